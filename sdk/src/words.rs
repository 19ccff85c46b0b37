//! Words every part of the contract shares: time, the context of a call, refusals, failures, charges.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Milliseconds since the Unix epoch, UTC.
///
/// ```
/// use std::time::Duration;
/// use gatehouse_sdk::UnixMs;
///
/// let start = UnixMs(1_000);
/// assert_eq!(start.plus(Duration::from_secs(2)), UnixMs(3_000));
/// assert_eq!(UnixMs(3_000).since(start), Duration::from_secs(2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// This moment and `span` more, stopping at the end of time rather than wrapping.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Whole milliseconds, stopping at the largest number.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Everything a family may not look up itself: with the same context and the same arguments it must
/// answer the same.
///
/// ```
/// use gatehouse_sdk::{Context, UnixMs};
///
/// let cx = Context::at(UnixMs(1_767_225_600_000));
/// assert_eq!(cx.now, cx.accepted_at);
/// assert_eq!(cx.task, None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The host's time.
    pub now: UnixMs,
    /// Fixed for the life of a task; the only randomness there is.
    pub seed: u64,
    /// The task's id; `None` while a request is being judged.
    pub task: Option<String>,
    /// When the task was accepted; `now` while a request is being judged.
    pub accepted_at: UnixMs,
    /// When the host fails the task by itself ("Task timeout").
    pub deadline: UnixMs,
    /// The operator's table for this plugin; an empty object when there is none. Never holds a secret.
    pub settings: Value,
}

impl Context {
    /// A context at `now` with nothing special about it, for tests and examples: seed 0, no task, no
    /// settings, a deadline in 30 minutes.
    #[must_use]
    pub fn at(now: UnixMs) -> Self {
        Self {
            now,
            seed: 0,
            task: None,
            accepted_at: now,
            deadline: now.plus(Duration::from_secs(30 * 60)),
            settings: Value::Object(serde_json::Map::new()),
        }
    }
}

/// Why a request is refused at once. The host owns status codes and envelopes.
///
/// ```
/// use gatehouse_sdk::Refusal;
///
/// let refusal = Refusal::invalid("model", "expected `ctx-pro` or `ctx-max`, got nothing");
/// assert_eq!(
///     refusal,
///     Refusal::Invalid {
///         field: Some("model".into()),
///         message: "`model`: expected `ctx-pro` or `ctx-max`, got nothing".into(),
///     }
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bad field, or a bad request as a whole.
    Invalid {
        /// JSON path of the field, `None` for the whole request.
        field: Option<String>,
        /// The whole sentence for the client: the field, what was expected, what came.
        message: String,
    },
    /// Something the request names does not exist.
    NotFound(String),
    /// Something the request names may not be used.
    Forbidden(String),
}

impl Refusal {
    /// A bad `field`; `problem` says what was expected and what came.
    #[must_use]
    pub fn invalid(field: impl Into<String>, problem: impl AsRef<str>) -> Self {
        let field = field.into();
        let message = format!("`{field}`: {}", problem.as_ref());
        Self::Invalid { field: Some(field), message }
    }
}

/// Whose trouble a failure is; decides the `type` a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Blame {
    /// The request asks for what cannot be done.
    Request,
    /// A moderation filter stopped it.
    Moderation,
    /// The provider's, or the operator's account there.
    Upstream,
}

/// Why an accepted task ends badly. The host always refunds it in full.
///
/// ```
/// use gatehouse_sdk::{Blame, Failure};
///
/// let failure = Failure::moderation("the prompt was stopped by the provider's filter");
/// assert_eq!(failure.blame, Blame::Moderation);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Whose trouble it is.
    pub blame: Blame,
    /// The reason, for the client.
    pub message: String,
}

impl Failure {
    /// The request asks for what cannot be done.
    #[must_use]
    pub fn request(message: impl Into<String>) -> Self {
        Self { blame: Blame::Request, message: message.into() }
    }

    /// A moderation filter stopped it.
    #[must_use]
    pub fn moderation(message: impl Into<String>) -> Self {
        Self { blame: Blame::Moderation, message: message.into() }
    }

    /// The provider's trouble, or the operator's account there.
    #[must_use]
    pub fn upstream(message: impl Into<String>) -> Self {
        Self { blame: Blame::Upstream, message: message.into() }
    }
}

/// What to bill: price keys, most specific first (the host takes the first that has a price), and how
/// many units of it.
///
/// ```
/// use gatehouse_sdk::Charge;
///
/// let charge = Charge::keys(["motion-2.6/1080p/audio", "motion-2.6"]).times(5);
/// assert_eq!(charge.quantity, 5);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Price keys; each one must be listed in [`About::price_keys`](crate::About::price_keys).
    pub keys: Vec<String>,
    /// Units of the price.
    pub quantity: u32,
}

impl Charge {
    /// One unit of the first of `keys` that has a price.
    #[must_use]
    pub fn keys<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), quantity: 1 }
    }

    /// The same price, `quantity` times.
    #[must_use]
    pub fn times(mut self, quantity: u32) -> Self {
        self.quantity = quantity;
        self
    }
}
