//! Time, and the context of a call.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{self, Extra, millis};
use crate::bindings::gatehouse::family::types;
use crate::log;

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
    /// This moment and `span` more, at most the largest moment.
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

/// Everything a family may not look up itself. The same context and the same arguments must give the same
/// result.
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
    /// The task's id; `None` while a request is checked.
    pub task: Option<String>,
    /// When the task was accepted; `now` while a request is checked.
    pub accepted_at: UnixMs,
    /// When the host fails the task by itself ("Task timeout"); later with each request that joins it.
    pub deadline: UnixMs,
    /// Opaque and stable for one customer; never a key or a customer id. Empty in self-tests.
    pub customer: String,
    /// The operator's table for this plugin; an empty object when there is none. Never holds a secret.
    pub settings: Value,
    /// What a later host says besides.
    pub extra: Extra,
}

impl Context {
    /// A plain context at `now`, for tests and examples: seed 0, no task, no
    /// settings, a deadline in 30 minutes.
    #[must_use]
    pub fn at(now: UnixMs) -> Self {
        Self {
            now,
            seed: 0,
            task: None,
            accepted_at: now,
            deadline: now.plus(Duration::from_secs(30 * 60)),
            customer: String::new(),
            settings: Value::Object(serde_json::Map::new()),
            extra: Extra::new(),
        }
    }

    /// The operator's settings in the family's own shape, whose schema [`About::settings`](crate::About::settings) publishes:
    /// a host refuses others. What does not fit all the same is logged, and counts as no settings.
    ///
    /// ```
    /// use gatehouse_sdk::{Context, UnixMs};
    ///
    /// #[derive(Default, serde::Deserialize, schemars::JsonSchema)]
    /// #[serde(default)]
    /// #[schemars(deny_unknown_fields)]
    /// struct Settings {
    ///     greeting: String,
    /// }
    ///
    /// let mut cx = Context::at(UnixMs(1_767_225_600_000));
    /// assert_eq!(cx.settings_as::<Settings>().greeting, "");
    /// cx.settings = serde_json::json!({"greeting": "hello"});
    /// assert_eq!(cx.settings_as::<Settings>().greeting, "hello");
    /// ```
    #[must_use]
    pub fn settings_as<S: DeserializeOwned + Default>(&self) -> S {
        let without_pace = |error| {
            // Every family's schema has it, and a type that denies other fields does not.
            let mut own = self.settings.clone();
            own.as_object_mut().and_then(|table| table.remove("pace")).ok_or(error)?;
            S::deserialize(&own)
        };
        S::deserialize(&self.settings).or_else(without_pace).unwrap_or_else(|error: serde_json::Error| {
            log::error("the settings do not fit", &[("reason", &error.to_string())]);
            S::default()
        })
    }
}

impl From<types::Context> for Context {
    fn from(cx: types::Context) -> Self {
        Self {
            now: UnixMs(cx.now),
            seed: cx.seed,
            task: (!cx.task_id.is_empty()).then_some(cx.task_id),
            accepted_at: UnixMs(cx.accepted_at),
            deadline: UnixMs(cx.deadline),
            customer: cx.customer,
            settings: json::of_host(&cx.settings),
            extra: json::extra_of_host(&cx.extra),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a family that denies unknown fields loses all of its settings once an operator sets a pace.
    #[test]
    fn the_pace_is_no_unknown_setting() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Settings {
            greeting: String,
        }
        for (settings, greeting) in [
            (serde_json::json!({"greeting": "hello", "pace": {"shortest_ms": 5}}), "hello"),
            (serde_json::json!({"greeting": "hello"}), "hello"),
            (serde_json::json!({"greeting": "hello", "pace": {}, "other": 1}), ""),
            (serde_json::json!("hello"), ""),
        ] {
            let mut cx = Context::at(UnixMs(0));
            cx.settings = settings;
            assert_eq!(cx.settings_as::<Settings>().greeting, greeting, "{}", cx.settings);
        }
    }
}
