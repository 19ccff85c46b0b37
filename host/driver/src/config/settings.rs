//! The operator's settings of tasks and text. Defaults are the specification's.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_model::Price;
use gatehouse_tasks::ResponseLimits;
use serde::Deserialize;

use crate::models::table::ModelConfig;

/// The `[tasks]` and `[prices]` tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Seconds after which a task fails with "Task timeout" and is refunded (spec: about 30 minutes).
    pub time_limit_s: u32,
    /// The same per canonical model.
    pub time_limit_s_by_model: BTreeMap<String, u32>,
    /// Hours an `Idempotency-Key` is remembered.
    pub idempotency_hours: u32,
    /// Days a finished task can be read.
    pub history_days: u32,
    /// Steps under way at once.
    pub concurrency: usize,
    /// Steps a task's plugin may take altogether; one that takes more makes no progress, and the task fails.
    pub steps: u32,
    /// Price keys and their prices in credits, filled from `[prices]`.
    #[serde(skip)]
    pub prices: BTreeMap<String, Price>,
    /// Whether webhooks may be sent over http: in sandbox mode.
    #[serde(skip)]
    pub webhooks_over_http: bool,
    /// The `[text]` table.
    #[serde(skip)]
    pub text: TextConfig,
    /// The `[models]` table: text models by id.
    #[serde(skip)]
    pub models: BTreeMap<String, ModelConfig>,
}

/// The `[text]` table: requests that are answered while their client waits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TextConfig {
    /// Seconds until the head of the provider's answer, and for the whole of one that is no stream.
    pub time_limit_s: u32,
    /// Seconds after which a client that asked for a stream gets its head even if the first events have not come yet;
    /// from then on a failure is the stream's last event. Before, it is a plain HTTP error.
    pub head_s: u32,
    /// Seconds a request waits for an account that can take it, also after a provider's 429; then it is refused.
    pub permit_wait_s: u32,
    /// Seconds a stream may be silent; comment lines of its provider are no silence.
    pub idle_s: u32,
    /// Seconds a stream may last as a whole; then it is cut, and what was delivered is paid for.
    pub stream_s: u32,
    /// Seconds a provider with `drain_cancelled` is read on after the client has left, to learn what to charge.
    pub drain_s: u32,
    /// Days a response is kept, so that another can go on from it.
    pub response_days: u32,
    /// Responses kept for one customer; the oldest make room. With 0 none is kept.
    pub responses_per_customer: u32,
    /// MiB of all responses kept for one customer, requests included.
    pub responses_mib_per_customer: u32,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self {
            time_limit_s: 600,
            head_s: 10,
            permit_wait_s: 8,
            idle_s: 300,
            stream_s: 3600,
            drain_s: 30,
            response_days: 30,
            responses_per_customer: 10_000,
            responses_mib_per_customer: 256,
        }
    }
}

impl TextConfig {
    pub(crate) fn time_limit(&self) -> Duration {
        Duration::from_secs(self.time_limit_s.into())
    }

    pub(crate) fn head(&self) -> Duration {
        Duration::from_secs(self.head_s.into())
    }

    pub(crate) fn permit_wait(&self) -> Duration {
        Duration::from_secs(self.permit_wait_s.into())
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_s.into())
    }

    pub(crate) fn stream(&self) -> Duration {
        Duration::from_secs(self.stream_s.into())
    }

    pub(crate) fn response_life(&self) -> Duration {
        Duration::from_secs(u64::from(self.response_days) * 24 * 3600)
    }

    pub(crate) fn responses(&self) -> ResponseLimits {
        let bytes = u64::from(self.responses_mib_per_customer) * 1024 * 1024;
        ResponseLimits { count: self.responses_per_customer.into(), bytes }
    }

    pub(crate) fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_s.into())
    }
}

impl Config {
    /// How long a request with an `Idempotency-Key` is remembered.
    pub(crate) fn idempotency_lifetime(&self) -> Duration {
        Duration::from_secs(u64::from(self.idempotency_hours) * 3600)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            time_limit_s: 30 * 60,
            time_limit_s_by_model: BTreeMap::new(),
            idempotency_hours: 24,
            history_days: 30,
            concurrency: 512,
            steps: 20_000,
            prices: BTreeMap::new(),
            webhooks_over_http: false,
            text: TextConfig::default(),
            models: BTreeMap::new(),
        }
    }
}
