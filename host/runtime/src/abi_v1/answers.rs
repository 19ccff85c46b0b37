//! What a family returns, as the model's types. Here the contract may grow: keys, actions, edits and counters that this host
//! does not know are ignored or refused by their names. `exec/answer_rules` decides whether the rest is acceptable.

use std::collections::BTreeMap;

use gatehouse_contract::MAX_LINES;
use gatehouse_model as own;
use serde::de::IgnoredAny;

use super::exports::bindings::exports::gatehouse::family::{dialect, direct, jobs, text};
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::types::Convert as _;
use crate::fault::Fault;

/// Problems of one refusal.
pub(crate) const MAX_PROBLEMS: usize = 16;
/// What one unit of a charge's line is, or the name of a counter.
pub(crate) const MAX_UNIT_BYTES: usize = 64;
/// Counters of one usage.
pub(crate) const MAX_COUNTERS: usize = 16;
/// What a record may say beyond its fields.
pub(crate) const MAX_EXTRA_BYTES: usize = 64 << 10;

/// A value of the contract as the model's type, where the contract may say what this host does not know.
pub(super) trait Read<T> {
    fn read(self) -> Result<T, Fault>;
}

impl<T: Read<U>, U> Read<Vec<U>> for Vec<T> {
    fn read(self) -> Result<Vec<U>, Fault> {
        self.into_iter().map(Read::read).collect()
    }
}

impl<T: Read<U>, U> Read<Option<U>> for Option<T> {
    fn read(self) -> Result<Option<U>, Fault> {
        self.map(Read::read).transpose()
    }
}

impl<T: Read<U>, U, E: Read<F>, F> Read<Result<U, F>> for Result<T, E> {
    fn read(self) -> Result<Result<U, F>, Fault> {
        match self {
            Ok(answer) => answer.read().map(Ok),
            Err(why) => why.read().map(Err),
        }
    }
}

/// What both sides have in one shape.
macro_rules! same {
    ($($from:ty => $to:ty),+ $(,)?) => {$(
        impl Read<$to> for $from {
            fn read(self) -> Result<$to, Fault> {
                Ok(self.convert())
            }
        }
    )+};
}

same! {
    String => own::Json,
    types::Failure => own::Failure,
    upstream::TextFailure => own::TextFailure,
}

/// Refuses what an `extra` says that must be known.
fn known(what: &'static str, extra: &str) -> Result<(), Fault> {
    if extra.is_empty() {
        return Ok(());
    }
    if extra.len() > MAX_EXTRA_BYTES {
        let why = format!("its `extra` may have {MAX_EXTRA_BYTES} bytes, it has {}", extra.len());
        return Err(Fault::bad(what, why));
    }
    let keys: BTreeMap<String, IgnoredAny> = serde_json::from_str(extra).map_err(|error| {
        Fault::bad(what, format!("its `extra` is not the text of a JSON object: {error}"))
    })?;
    match keys.keys().find(|key| key.ends_with('!')) {
        None => Ok(()),
        Some(key) => {
            let why = format!(
                "this host does not know the key {key:?} of its `extra`, and a key that ends in `!` must be known"
            );
            Err(Fault::bad(what, why))
        }
    }
}

/// Records that may say more in their `extra`: fields in brackets have the same types, those in parentheses are converted, the
/// others are read.
macro_rules! records {
    ($($what:literal $from:path => $to:path {
        $([$($same:ident),+])? $(($($converted:ident),+))? $($read:ident),*
    })+) => {$(
        impl Read<$to> for $from {
            fn read(self) -> Result<$to, Fault> {
                type To = $to;
                known($what, &self.extra)?;
                Ok(To {
                    $($($same: self.$same,)+)?
                    $($($converted: self.$converted.convert(),)+)?
                    $($read: self.$read.read()?,)*
                })
            }
        }
    )+};
}

records! {
    "accepted request" jobs::Accepted => own::Accepted {
        [model, progress, expected_ms, state] (stage, brief, doomed) charge, at_most
    }
    "step" jobs::Step => own::Step { [state, progress] (stage) view, next }
    "view" jobs::View => own::InterimView { (public, private) products }
    "outcome" jobs::Outcome => own::Outcome { (public, private, claims) products, settle }
    "ending" jobs::Ending => own::FailedOutcome { (failure, public, private, claims) products }
    "call" upstream::Call => own::Call {
        [provider, affinity, method, timeout_ms, credentials] (target, headers, body, replay, reading, shared)
    }
    "reply" upstream::Reply => own::Reply { [status, affinity] (headers, body) }
    "prepared request" text::Prepared => own::Prepared {
        [streaming, input_bytes, pictures, max_output_tokens, state] call
    }
    "prepared request" dialect::DialectPrepared => Translated { [framing, state] call }
    "exchange" direct::Exchange => own::Exchange { [passes, state] call, charge, at_most }
    "response" direct::DirectResponse => own::DirectResponse { [mime, fresh_s] (body) settle }
}

impl Read<own::Refusal> for types::Refusal {
    fn read(self) -> Result<own::Refusal, Fault> {
        Ok(match self {
            Self::Invalid(problems) => {
                if problems.is_empty() || problems.len() > MAX_PROBLEMS {
                    let why = format!("expected 1 to {MAX_PROBLEMS} problems, got {}", problems.len());
                    return Err(Fault::bad("refusal", why));
                }
                let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
                let message = messages.join("; ");
                own::Refusal::Invalid {
                    message,
                    field: problems.into_iter().next().and_then(|first| first.field),
                }
            }
            Self::NotFound(what) => own::Refusal::NotFound(what),
            Self::Forbidden(what) => own::Refusal::Forbidden(what),
        })
    }
}

impl Read<own::Charge> for types::Charge {
    fn read(self) -> Result<own::Charge, Fault> {
        if self.is_empty() || self.len() > MAX_LINES {
            return Err(Fault::bad("charge", format!("expected 1 to {MAX_LINES} lines, got {}", self.len())));
        }
        Vec::<types::Line>::read(self).map(own::Charge)
    }
}

impl Read<own::Line> for types::Line {
    fn read(self) -> Result<own::Line, Fault> {
        let Self { keys, quantity, unit } = self;
        if unit.len() > MAX_UNIT_BYTES {
            let why = format!("a unit may have {MAX_UNIT_BYTES} bytes, got {}", unit.len());
            return Err(Fault::bad("charge", why));
        }
        Ok(own::Line { keys, quantity, unit })
    }
}

/// The most that may be settled; without lines where a family does not say.
impl Read<own::Charge> for Option<types::Charge> {
    fn read(self) -> Result<own::Charge, Fault> {
        self.map_or_else(|| Ok(own::Charge::default()), Read::read)
    }
}

impl Read<own::Action> for jobs::Action {
    fn read(self) -> Result<own::Action, Fault> {
        Ok(match self {
            Self::Call(call) => own::Action::Call(call.read()?),
            Self::Probe(probes) => own::Action::Probe(probes.convert()),
            Self::Wait(until) => own::Action::Wait(until.convert()),
            Self::Done(end) => own::Action::Done(end.read()?),
            Self::Fail(end) => own::Action::Fail(end.read()?),
            Self::Other((name, _)) => {
                let why =
                    format!("this host does not know the action {:?}", gatehouse_guest::shorten(&name, 100));
                return Err(Fault::bad("action", why));
            }
        })
    }
}

impl Read<own::Product> for jobs::Product {
    fn read(self) -> Result<own::Product, Fault> {
        known("product", &self.extra)?;
        let edit = self.edit.map(|edit| {
            serde_json::from_str(&edit).map_err(|error| {
                Fault::bad("products", format!("expected an edit, a tile or a clip: {error}"))
            })
        });
        Ok(own::Product { source: self.source, mime: self.mime, edit: edit.transpose()? })
    }
}

impl Read<own::Answered> for text::Answered {
    fn read(self) -> Result<own::Answered, Fault> {
        known("answer", &self.extra)?;
        let (usage, counters) = self.usage.map(usage).transpose()?.unzip();
        Ok(own::Answered {
            body: self.body.convert(),
            usage,
            counters: counters.unwrap_or_default(),
            output_bytes: self.output_bytes,
        })
    }
}

impl Read<own::Chunk> for text::Chunk {
    fn read(self) -> Result<own::Chunk, Fault> {
        known("chunk", &self.extra)?;
        let (usage, counters) = self.usage.map(usage).transpose()?.unzip();
        Ok(own::Chunk {
            send: self.send.convert(),
            usage,
            counters: counters.unwrap_or_default(),
            output_bytes: self.output_bytes,
            last: self.last,
        })
    }
}

/// Of the frames of a dialect's provider nothing is counted.
impl Read<own::Chunk> for Vec<upstream::Sse> {
    fn read(self) -> Result<own::Chunk, Fault> {
        Ok(own::Chunk::of(self.convert()))
    }
}

/// What a dialect makes of a request; how its provider frames a stream is a word yet.
pub(crate) struct Translated {
    pub(crate) call: own::Call,
    pub(crate) framing: String,
    pub(crate) state: Vec<u8>,
}

/// The counters as tokens, each as that of the longest known beginning of its name; and those by other names than the tokens'.
fn usage(counters: Vec<(String, u64)>) -> Result<(own::Usage, Vec<(String, u64)>), Fault> {
    if counters.len() > MAX_COUNTERS {
        let why = format!("at most {MAX_COUNTERS} counters are allowed, got {}", counters.len());
        return Err(Fault::bad("usage", why));
    }
    let (mut usage, mut others) = (own::Usage::default(), Vec::new());
    for (name, count) in counters {
        if name.is_empty() || name.len() > MAX_UNIT_BYTES {
            let why = format!("expected a counter's name of 1 to {MAX_UNIT_BYTES} bytes, got {}", name.len());
            return Err(Fault::bad("usage", why));
        }
        let mut known = name.as_str();
        let counter = loop {
            match known {
                "input" => break Some(&mut usage.input),
                "output" => break Some(&mut usage.output),
                "cached" => break Some(&mut usage.cached),
                "cache-write-1h" => {
                    usage.cache_write_hour = usage.cache_write_hour.saturating_add(count);
                    break Some(&mut usage.cache_write);
                }
                "cache-write" => break Some(&mut usage.cache_write),
                _ => match known.rsplit_once('-') {
                    Some((beginning, _)) => known = beginning,
                    None => break None,
                },
            }
        };
        let is_token = counter.is_some();
        if let Some(counter) = counter {
            *counter = counter.saturating_add(count);
        }
        if known != name || !is_token {
            others.push((name, count));
        }
    }
    Ok((usage, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(edit: &str, extra: &str) -> Result<own::Product, String> {
        let (source, edit, extra) = ("blob:1".to_owned(), Some(edit.to_owned()), extra.to_owned());
        jobs::Product { source, mime: None, edit, extra }.read().map_err(|fault| fault.to_string())
    }

    /// Without it each new key would need a new contract.
    #[test]
    fn an_extra_may_say_more_than_this_host_knows() {
        let clip = r#"{"clip": {"from": 5}}"#;
        let edit = Some(own::Edit::Clip(own::Clip { from_ms: 5, to_ms: None }));
        for extra in ["", "{}", r#"{"colour": [1], "later": {"x!": 1}}"#] {
            assert_eq!(product(clip, extra).map(|product| product.edit), Ok(edit.clone()), "{extra}");
        }
        for (extra, why) in [
            (
                r#"{"sealed!": 1}"#,
                "the plugin's product is not acceptable: this host does not know the key \"sealed!\"",
            ),
            ("[1]", "its `extra` is not the text of a JSON object"),
            ("{", "its `extra` is not the text of a JSON object"),
            (
                &format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_EXTRA_BYTES)),
                "its `extra` may have 65536 bytes, it has 65544",
            ),
        ] {
            let fault = product(clip, extra).expect_err("a fault");
            assert!(fault.contains(why), "{fault}");
        }
    }

    #[test]
    fn an_unknown_edit_or_action_is_refused_by_its_name() {
        let fault = product(r#"{"mirror": {}}"#, "").expect_err("a fault");
        assert!(fault.contains("expected an edit, a tile or a clip: unknown variant `mirror`"), "{fault}");
        let action = jobs::Action::Other(("sing".to_owned(), "{}".to_owned()));
        let fault = Read::<own::Action>::read(action).expect_err("a fault").to_string();
        assert_eq!(
            fault,
            "the plugin's action is not acceptable: this host does not know the action \"sing\""
        );
    }

    #[test]
    fn all_problems_of_a_request_are_told() {
        let problem = |field: Option<&str>, message: &str| types::Problem {
            field: field.map(str::to_owned),
            message: message.to_owned(),
        };
        let read = |problems: Vec<types::Problem>| types::Refusal::Invalid(problems).read();
        let refusal = |field: Option<&str>, message: &str| {
            Ok(own::Refusal::Invalid { field: field.map(str::to_owned), message: message.to_owned() })
        };
        assert_eq!(read(vec![problem(Some("a"), "one")]), refusal(Some("a"), "one"));
        let both = vec![problem(Some("a"), "one"), problem(None, "two")];
        assert_eq!(read(both), refusal(Some("a"), "one; two"));
        let none = read(vec![]).expect_err("a fault").to_string();
        assert_eq!(none, "the plugin's refusal is not acceptable: expected 1 to 16 problems, got 0");
    }

    #[test]
    fn a_counter_is_charged_as_the_one_it_belongs_to() {
        let read = |counters: &[(&str, u64)]| {
            usage(counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect())
        };
        let all = read(&[
            ("input", 1),
            ("input-audio", 2),
            ("output", 4),
            ("output-audio-hd", 8),
            ("cached", 16),
            ("cache-write", 32),
            ("cache-write-1h", 64),
            ("seconds", 128),
            ("inputs", 256),
        ]);
        let expected = own::Usage { input: 3, output: 12, cached: 16, cache_write: 96, cache_write_hour: 64 };
        let others = [("input-audio", 2), ("output-audio-hd", 8), ("seconds", 128), ("inputs", 256)];
        let others = others.map(|(name, count)| (name.to_owned(), count)).to_vec();
        assert_eq!(all, Ok((expected, others)));
        let most = read(&[("input", u64::MAX), ("input-audio", 1)]).map(|(usage, _)| usage.input);
        assert_eq!(most, Ok(u64::MAX));
        let many = read(&[("input", 1); 17]).expect_err("a fault").to_string();
        assert_eq!(many, "the plugin's usage is not acceptable: at most 16 counters are allowed, got 17");
    }
}
