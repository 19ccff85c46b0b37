//! Ids of tool calls that any protocol takes: Messages has letters, digits, `_` and `-` alone, and compatible servers make
//! ids of anything (`functions.Bash:0`). Such an id is written in those letters, and is itself again at its own provider.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

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
