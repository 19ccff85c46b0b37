//! The operator's settings of tasks and text. Defaults are the specification's.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_model::{Price, settings};
use gatehouse_tasks::ResponseLimits;
use serde::Deserialize;

use crate::config::variants::PriceVariantConfig;
use crate::models::table::ModelConfig;
use crate::waiting_files::Bounds;

/// Where nobody has looked at the memory.
const USUAL_WAITING_MIB: u64 = 256;

settings! {
    /// The `[tasks]` and `[prices]` tables.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Config {
        /// Seconds, a day at most, after which a task fails with "Task timeout" and is refunded (spec: about 30 minutes).
        pub time_limit_s: u32 = 30 * 60,
        /// The same per canonical model.
        pub time_limit_s_by_model: BTreeMap<String, u32> = BTreeMap::new(),
        /// Hours an `Idempotency-Key` is remembered.
        pub idempotency_hours: u32 = 24,
        /// Days a finished task can be read.
        pub history_days: u32 = 30,
        /// Steps under way at once.
        pub concurrency: usize = 512,
        /// Steps a task's plugin may take altogether; one that takes more makes no progress, and the task fails.
        pub steps: u32 = 20_000,
        /// Replies and results that wait without a permit for a media store that is away. Beyond, no call begins whose reply brings
        /// files.
        pub waiting_files: usize = 1024,
        /// MiB of files that wait so in memory; absent: an eighth of the memory, 256 at most.
        pub waiting_files_mib: Option<NonZeroU32> = None,
        /// Seconds for which an account cannot be used before the operators' webhooks are told; 0 tells nothing.
        pub account_down_s: u32 = 60,
        /// Price keys and their prices in credits, filled from `[prices]`.
        #[serde(skip)]
        pub prices: BTreeMap<String, Price> = BTreeMap::new(),
        /// Variants of the price book, filled from `[price_variants]`.
        #[serde(skip)]
        pub price_variants: BTreeMap<String, PriceVariantConfig> = BTreeMap::new(),
        /// Whether webhooks may be sent over http: in sandbox mode.
        #[serde(skip)]
        pub webhooks_over_http: bool = false,
        /// The `[text]` table.
        #[serde(skip)]
        pub text: TextConfig = TextConfig::default(),
        /// The `[models]` table: text models by id.
        #[serde(skip)]
        pub models: BTreeMap<String, ModelConfig> = BTreeMap::new(),
    }
}

settings! {
    /// The `[text]` table: requests that are answered while their client waits.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct TextConfig {
        /// Seconds until the head of the provider's answer, and for the whole of one that is no stream.
        pub time_limit_s: u32 = 600,
        /// Seconds after which a client that asked for a stream gets its head even if the first events have not come yet;
        /// from then on a failure is the stream's last event. Before, it is a plain HTTP error.
        pub head_s: u32 = 10,
        /// Seconds a request waits for an account that can take it, also after a provider's 429; then it is refused.
        pub permit_wait_s: u32 = 8,
        /// Seconds a stream may be silent; comment lines of its provider are no silence.
        pub idle_s: u32 = 300,
        /// Seconds a stream may last as a whole; then it is cut, and what was delivered is paid for.
        pub stream_s: u32 = 3600,
        /// Seconds a provider with `drain_cancelled` is read on after the client has left, to learn what to charge.
        pub drain_s: u32 = 30,
        /// Days a response is kept, so that another can go on from it.
        pub response_days: u32 = 30,
        /// Responses kept for one customer; the oldest make room. With 0 none is kept.
        pub responses_per_customer: u32 = 10_000,
        /// MiB of all responses kept for one customer, requests included.
        pub responses_mib_per_customer: u32 = 256,
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

    /// What may wait for the media store without a permit.
    pub(crate) fn waiting_files(&self) -> Bounds {
        let mib = self.waiting_files_mib.map_or(USUAL_WAITING_MIB, |mib| u64::from(mib.get()));
        Bounds { count: self.waiting_files.max(1), bytes: mib * 1024 * 1024 }
    }
}
