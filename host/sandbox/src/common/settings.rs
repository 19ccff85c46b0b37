//! The settings of a sandbox: keys, speed, limits, ports, clock.
//!
//! Plain values. The defaults suit a person who tries the gateway; tests make the sandbox fast.

use std::sync::Arc;
use std::time::Duration;

use crate::common::clock::{self, Now};

/// What a sandbox is started with.
#[derive(Clone)]
pub struct Settings {
    /// Accepted API keys, each an account with its own limits and credits. The text providers refuse a key with the
    /// suffix `-401`, `-403`, `-429`, `-529` or `-broke` for that reason, the imagine provider all of these but `-529`.
    /// 8 to 128 letters, digits, `-` and `_`.
    pub keys: Vec<String>,
    /// How long a job takes; zero makes the first poll find it ready. A call of the imagine provider lasts as long.
    pub job_time: Duration,
    /// How long a delivery link lives. The real one: 10 minutes. Whole seconds on the wire.
    pub link_life: Duration,
    /// Jobs under way per account before submits are answered 429. The real one: 24.
    pub max_in_flight: usize,
    /// `Retry-After` of every poll answer and of a text provider's 429, in seconds. The real one: 1.
    pub retry_after_s: u64,
    /// Credits of each account, in the provider's unit (a picture costs 4 or 8).
    pub credits: u64,
    /// How long a marker holds a text answer, unless it is released before.
    pub hold: Duration,
    /// Where to listen.
    pub ports: Ports,
    /// The provider's clock.
    pub now: Now,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keys: vec!["sandbox-key".to_owned()],
            job_time: Duration::from_secs(2),
            link_life: Duration::from_mins(10),
            max_in_flight: 24,
            retry_after_s: 1,
            credits: 1_000_000,
            hold: Duration::from_secs(30),
            ports: Ports::default(),
            now: clock::wall(),
        }
    }
}

impl Settings {
    /// The same sandbox with another clock.
    #[must_use]
    pub fn with_now(mut self, now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// The account of a key, as an index into the keys.
    pub(crate) fn account(&self, key: &str) -> Option<usize> {
        self.keys.iter().position(|known| known == key)
    }

    /// `job_time` in milliseconds.
    pub(crate) fn job_ms(&self) -> u64 {
        u64::try_from(self.job_time.as_millis()).unwrap_or(u64::MAX)
    }

    /// When a link that is made now ends; one that is dead on arrival ends at once.
    pub(crate) fn link_end(&self, now: u64, is_dead: bool) -> u64 {
        let life = u64::try_from(self.link_life.as_millis()).unwrap_or(u64::MAX);
        if is_dead { now } else { now.saturating_add(life) }
    }
}

/// Ports on 127.0.0.1; 0 lets the system choose, which is the default for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Context provider: submits and credits.
    pub submit: u16,
    /// Context provider: results.
    pub poll: u16,
    /// Context provider: files.
    pub delivery: u16,
    /// Sample pictures.
    pub samples: u16,
    /// Context provider: its record, for tests.
    pub record: u16,
    /// The Messages API.
    pub messages: u16,
    /// The chat completions.
    pub chat: u16,
    /// Google's `generateContent`.
    pub gemini: u16,
    /// The text providers' records, for tests.
    pub text_record: u16,
    /// DashScope: its API.
    pub dashscope: u16,
    /// DashScope: files.
    pub dashscope_files: u16,
    /// DashScope: its record, for tests.
    pub dashscope_record: u16,
    /// The imagine provider: its API.
    pub imagine: u16,
    /// The imagine provider: files.
    pub imagine_files: u16,
    /// The imagine provider: its record, for tests.
    pub imagine_record: u16,
    /// Midjourney proxy: submits, reads, lists.
    pub midjourney: u16,
    /// Midjourney proxy: files.
    pub midjourney_files: u16,
    /// Midjourney proxy: its record, for tests.
    pub midjourney_record: u16,
}
