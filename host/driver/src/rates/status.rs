//! What clients learn of their rates: what is left with every answer, and why a request has to wait.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_model::KeyId;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Text requests and submissions, a minute.
    Requests,
    /// Tokens of text requests, a minute.
    Tokens,
    /// Live tasks and open text requests, at a time.
    Concurrency,
}

/// A limit that a request exceeds. Its text is for the client: the limit, its value, whose it is, and when to come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimited {
    /// The key.
    pub key: KeyId,
    /// What is limited.
    pub kind: LimitKind,
    /// How many.
    pub limit: NonZeroU32,
    /// Of which model; none for all together.
    pub model: Option<String>,
    /// When this request passes, if nothing else comes; none where that depends on the end of others.
    pub retry_after: Option<Duration>,
}

impl RateLimited {
    /// Whole seconds until another try makes sense, rounded up, at least one.
    #[must_use]
    pub fn seconds(&self) -> Option<u64> {
        self.retry_after.map(|wait| u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1))
    }
}

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, kind, limit, model, .. } = self;
        let what = match kind {
            LimitKind::Requests => "requests per minute",
            LimitKind::Tokens => "tokens per minute",
            LimitKind::Concurrency => "tasks and text requests at a time",
        };
        write!(f, "API key {key} is limited to {limit} {what}")?;
        if let Some(model) = model {
            write!(f, " of model {model:?}")?;
        }
        match self.seconds() {
            Some(seconds) => write!(f, ", and they are used up: retry in {seconds} s"),
            None => write!(f, ", and has as many: retry when one of them has ended"),
        }
    }
}

/// What is left of one kind of limit; of several the one with the least left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    /// The limit a minute.
    pub limit: u32,
    /// What could come at once.
    pub remaining: u32,
    /// How long until all of it could.
    pub reset: Duration,
}

/// What is left of a key's rates. A kind without limit is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateStatus {
    /// Requests.
    pub requests: Option<LimitStatus>,
    /// Tokens.
    pub tokens: Option<LimitStatus>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_limit_value_key_and_when() {
        let limited = |kind, model: Option<&str>, wait: Option<u64>| {
            RateLimited {
                key: KeyId::from("0123456789"),
                kind,
                limit: NonZeroU32::new(5).unwrap(),
                model: model.map(str::to_owned),
                retry_after: wait.map(Duration::from_millis),
            }
            .to_string()
        };
        assert_eq!(
            limited(LimitKind::Requests, None, Some(1_001)),
            "API key 0123456789 is limited to 5 requests per minute, and they are used up: retry in 2 s"
        );
        assert_eq!(
            limited(LimitKind::Tokens, Some("m"), Some(0)),
            "API key 0123456789 is limited to 5 tokens per minute of model \"m\", and they are used up: retry in 1 s"
        );
        assert_eq!(
            limited(LimitKind::Concurrency, None, None),
            "API key 0123456789 is limited to 5 tasks and text requests at a time, and has as many: retry when one of \
             them has ended"
        );
    }
}
