//! Ids of tool calls that any protocol takes: Messages has letters, digits, `_` and `-` alone, and compatible servers make
//! ids of anything (`functions.Bash:0`). Such an id is written in those letters, and is itself again at its own provider.
//! Some chat providers take back fewer ids than others make: those are shortened, always to the same one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::tool_names;

/// Begins an id that stands for another.
const PREFIX: &str = "toolu_gw_";

/// The id in letters that Messages allows.
#[must_use]
pub fn encoded(id: &str) -> Cow<'_, str> {
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    // One that only looks like it stands for another would otherwise become that one.
    if is_plain && matches!(decoded(id), Cow::Borrowed(_)) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(id)))
}

/// The id that this one stands for.
#[must_use]
pub fn decoded(id: &str) -> Cow<'_, str> {
    let inner = id.strip_prefix(PREFIX).and_then(|rest| URL_SAFE_NO_PAD.decode(rest).ok());
    match inner.and_then(|inner| String::from_utf8(inner).ok()).filter(|inner| !inner.is_empty()) {
        Some(inner) => Cow::Owned(inner),
        None => Cow::Borrowed(id),
    }
}

/// Letters of the longest id at OpenAI.
const SHORT: usize = 40;
/// Letters of every id at Mistral, and which.
const NINE: usize = 9;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Parts of the names of Mistral's models.
const OF_MISTRAL: [&str; 9] = [
    "mistral",
    "mixtral",
    "ministral",
    "codestral",
    "devstral",
    "magistral",
    "mathstral",
    "pixtral",
    "voxtral",
];
/// A part of the names of models that read the ids of their calls: they have to be their own.
const OF_KIMI: &str = "kimi";

/// The ids of calls that a chat provider takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallIds {
    /// Any.
    Any,
    /// Of 40 letters at most, as OpenAI does.
    Short,
    /// Of nine letters and digits, as Mistral does.
    Nine,
}

impl CallIds {
    /// What the provider of a model takes, by its own name of the model. An unknown one is taken for OpenAI.
    #[must_use]
    pub fn of(upstream: &str) -> Self {
        let name = upstream.to_ascii_lowercase();
        if OF_MISTRAL.iter().any(|part| name.contains(part)) {
            Self::Nine
        } else if name.contains(OF_KIMI) {
            Self::Any
        } else {
            Self::Short
        }
    }

    /// The id as such a provider takes it: that of a call and of its result are the same one, on every turn.
    #[must_use]
    pub fn fitted(self, id: &str) -> Cow<'_, str> {
        match self {
            Self::Short if id.len() > SHORT => tool_names::fitted(id, SHORT),
            Self::Nine if id.len() != NINE || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Cow::Owned(nine(id))
            }
            _ => Cow::Borrowed(id),
        }
    }
}

/// Nine letters and digits for an id.
fn nine(id: &str) -> String {
    let base = LETTERS.len() as u64;
    let mut rest = tool_names::digest(id);
    let mut letter = || {
        let letter = LETTERS[(rest % base) as usize];
        rest /= base;
        char::from(letter)
    };
    (0..NINE).map(|_| letter()).collect()
}

/// Ids of a conversation's calls as they are sent. A provider takes none twice, and servers that count their calls from 0 in each
/// answer make the same ones again.
#[derive(Debug, Default)]
pub struct DistinctIds {
    sent: BTreeSet<String>,
    /// How many ids were tried for each: a client may send one very often.
    tried: BTreeMap<String, u32>,
}

impl DistinctIds {
    /// The id of the next call, or one that is like it where there was such a call before.
    pub fn next(&mut self, id: &str) -> String {
        let id = if id.is_empty() { "call" } else { id };
        let tried = self.tried.entry(id.to_owned()).or_default();
        loop {
            *tried += 1;
            let next = if *tried == 1 { id.to_owned() } else { format!("{id}_{tried}") };
            if self.sent.insert(next.clone()) {
                return next;
            }
        }
    }
}

/// The ids of a conversation's calls in the letters that Messages allows, and of their results.
#[derive(Debug, Default)]
pub struct MessagesIds {
    distinct: DistinctIds,
    /// The calls of the last message with some that have no result yet, by the client's ids: as they are sent.
    open: BTreeMap<String, VecDeque<String>>,
}

impl MessagesIds {
    /// A message of the model begins: what follows are results of its calls.
    pub fn begin(&mut self) {
        self.open.clear();
    }

    /// The id of a call as it is sent.
    pub fn call(&mut self, id: &str) -> String {
        let sent = self.distinct.next(&fitted(id));
        self.open.entry(id.to_owned()).or_default().push_back(sent.clone());
        sent
    }

    /// The id of the call that a result is of, as it is sent.
    pub fn result(&mut self, id: &str) -> String {
        let call = self.open.get_mut(id).and_then(VecDeque::pop_front);
        call.unwrap_or_else(|| fitted(id).into_owned())
    }
}

/// The id in letters that Messages allows; one that stands for another does so already.
#[must_use]
pub fn fitted(id: &str) -> Cow<'_, str> {
    if matches!(decoded(id), Cow::Owned(_)) { Cow::Borrowed(id) } else { encoded(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a provider would not know its own call again, or two calls would become one.
    #[test]
    fn every_id_comes_back_and_stays_distinct() {
        let ids =
            ["functions.Bash:0", "functions.Bash_0", "a|b", "a.b", "a:b", "\u{e9}", "call_1", "toolu_01Ab-c"];
        for id in ids {
            let there = encoded(id);
            assert!(
                there.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
                "{there}"
            );
            assert_eq!(decoded(&there), id);
            let again = encoded(&there).into_owned();
            assert_eq!(decoded(&again), there, "an id that stands for another is one too");
        }
        assert_eq!(encoded("call_1"), "call_1");
        assert_eq!(fitted(&encoded("a:b")), encoded("a:b"));
        let mut all: Vec<_> = ids.iter().map(|id| encoded(id)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ids.len());
    }

    /// Without it every turn after a call that another server has made is refused, or a result goes to another call.
    #[test]
    fn an_id_is_one_that_the_provider_takes() {
        let long = |end: &str| format!("chatcmpl-tool-{}{end}", "0123456789abcdef".repeat(2));
        let given = ["call_1", "functions.Bash:0", "a b", "\u{e9}", "Abc123xyZ", &long("0"), &long("1")];
        for (upstream, is_taken) in [
            ("gpt-x", (|id| id.len() <= 40) as fn(&str) -> bool),
            ("vendor/Ministral-8B", |id| id.len() == 9 && id.bytes().all(|it| it.is_ascii_alphanumeric())),
            ("moonshotai/Kimi-K2", |_| true),
        ] {
            let ids = CallIds::of(upstream);
            let mut sent: Vec<_> = given.iter().map(|id| ids.fitted(id).into_owned()).collect();
            for (id, given) in sent.iter().zip(given) {
                assert!(is_taken(id), "{upstream}: {given} as {id}");
                assert_eq!(ids.fitted(id), *id, "{upstream}: what is taken stays");
                assert_eq!(is_taken(given), id == given, "{upstream}: {given} as {id}");
            }
            sent.sort_unstable();
            sent.dedup();
            assert_eq!(sent.len(), given.len(), "{upstream}: {sent:?}");
        }
    }

    /// Without it a history whose server counts its calls anew in each answer is refused for ever, or a result goes to another call.
    #[test]
    fn no_two_calls_have_one_id_and_each_has_its_result() {
        let mut ids = MessagesIds::default();
        ids.begin();
        assert_eq!(
            ["call_0", "call_0", "", "a:0"].map(|id| ids.call(id)),
            ["call_0", "call_0_2", "call", "toolu_gw_YTow"]
        );
        assert_eq!(
            ["call_0", "", "a:0", "call_0"].map(|id| ids.result(id)),
            ["call_0", "call", "toolu_gw_YTow", "call_0_2"]
        );
        assert_eq!(ids.result("call_0"), "call_0", "one that nobody waits for stays");
        ids.begin();
        assert_eq!(["call_0", "call_0_2"].map(|id| ids.call(id)), ["call_0_3", "call_0_2_2"]);
        assert_eq!(["call_0_2", "call_0"].map(|id| ids.result(id)), ["call_0_2_2", "call_0_3"]);
    }
}
