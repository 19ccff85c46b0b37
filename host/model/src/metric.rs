//! The names of all metrics, in one table.
//!
//! Labels never carry a key, a task or a request id.

/// What kind of number a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows, from 0 at the start of the process.
    Counter,
    /// It is as it is now.
    Gauge,
    /// How many samples lie below each of some bounds.
    Histogram,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// What it says, for people; its labels in backticks.
    pub help: &'static str,
}

macro_rules! metrics {
    ($(#[doc = $help:literal] $kind:ident $constant:ident = $name:literal;)*) => {
        $(#[doc = $help] pub const $constant: &str = $name;)*
        /// All of them.
        pub const ALL: &[Metric] =
            &[$(Metric { name: $name, kind: MetricKind::$kind, help: $help }),*];
    };
}

metrics! {
    /// Requests by `surface` and `status`.
    Counter REQUESTS = "gatehouse_http_requests_total";
    /// Seconds from a request's head to the end of its answer, by `surface`.
    Histogram REQUEST_SECONDS = "gatehouse_http_request_seconds";
    /// Open client connections.
    Gauge CONNECTIONS = "gatehouse_http_connections";
    /// Tokens charged for, by `model` and `kind`.
    Counter TOKENS = "gatehouse_tokens_total";
    /// What providers counted that has no price, by `model` and `counter`.
    Counter UNPRICED = "gatehouse_unpriced_counts_total";
    /// Micro-credits that texts cost above what their customers had, by `model`: the operator's cost.
    Counter UNPAID = "gatehouse_unpaid_micro_credits_total";
    /// Texts answered by another target than their first, by `model` and `provider`.
    Counter TARGET_FALLBACKS = "gatehouse_text_target_fallbacks_total";
    /// Calls of texts that were given up without an answer and that may be billed, by `provider`: the operator's cost.
    Counter GIVEN_UP_CALLS = "gatehouse_text_given_up_calls_total";
    /// Tasks accepted, by `model`.
    Counter TASKS_ACCEPTED = "gatehouse_tasks_accepted_total";
    /// Tasks refused because they could not begin before their time limit, by `model`.
    Counter TASKS_TOO_LATE = "gatehouse_tasks_too_late_total";
    /// Requests that joined a living task, by `model`.
    Counter TASKS_JOINED = "gatehouse_tasks_joined_total";
    /// Tasks ended, by `model` and `outcome`.
    Counter TASKS_ENDED = "gatehouse_tasks_ended_total";
    /// Tasks not yet ended.
    Gauge TASKS_LIVE = "gatehouse_tasks_live";
    /// Seconds a due task waited for the scheduler.
    Histogram LATENESS_SECONDS = "gatehouse_scheduler_lateness_seconds";
    /// Calls whose outcome was unknown, by `policy`: "resend" or "refund" after a restart, "ask" where an operator is asked.
    Counter AMBIGUOUS = "gatehouse_ambiguous_calls_total";
    /// Tasks whose call waits for an operator's ruling.
    Gauge TASKS_AMBIGUOUS = "gatehouse_tasks_ambiguous";
    /// Rulings of operators about ambiguous calls, by `ruling`.
    Counter RULINGS = "gatehouse_ambiguous_rulings_total";
    /// Upstream calls by `provider` and `outcome`.
    Counter CALLS = "gatehouse_upstream_calls_total";
    /// Seconds of an upstream call, by `provider`.
    Histogram CALL_SECONDS = "gatehouse_upstream_call_seconds";
    /// Requests and tasks that wait for a permit, by `provider`.
    Gauge WAITING = "gatehouse_upstream_waiting";
    /// Seconds they waited until they got one, by `provider`.
    Histogram WAIT_SECONDS = "gatehouse_upstream_wait_seconds";
    /// Permits taken back from streams whose client had left, by `provider`.
    Counter RECLAIMED = "gatehouse_upstream_reclaimed_permits_total";
    /// 1 while a provider account's breaker is open, by `provider` and `account`.
    Gauge BREAKER_OPEN = "gatehouse_upstream_breaker_open";
    /// 1 while a provider has answered an account with "too many requests" alone for minutes, by `provider` and `account`.
    Gauge RATE_LIMITED = "gatehouse_upstream_account_rate_limited";
    /// A provider refused an account's credentials or credit, or its token was not renewed, by `provider` and `account`.
    Counter ACCOUNT_ERRORS = "gatehouse_upstream_account_errors_total";
    /// Plugin calls by `family`, `function` and `outcome`.
    Counter PLUGIN_CALLS = "gatehouse_plugin_calls_total";
    /// Plugin instances made, by `family`: one for each call, but one for a text request or stream.
    Counter PLUGIN_INSTANCES = "gatehouse_plugin_instances_total";
    /// New work refused because its customer has filled the family's queue, by `family`.
    Counter PLUGIN_QUEUE_FULL = "gatehouse_plugin_queue_full_total";
    /// Seconds of a plugin call, by `family`.
    Histogram PLUGIN_SECONDS = "gatehouse_plugin_call_seconds";
    /// Calls that faulted in a fresh version and were answered by another one, by `family` and `function`.
    Counter PLUGIN_FALLBACKS = "gatehouse_plugin_fallbacks_total";
    /// Versions rolled back by the canary, by `family`.
    Counter PLUGIN_ROLLED_BACK = "gatehouse_plugin_rolled_back_total";
    /// Batches committed.
    Counter COMMITS = "gatehouse_store_commits_total";
    /// Commands in one batch.
    Histogram BATCH_SIZE = "gatehouse_store_batch_commands";
    /// Seconds of one commit.
    Histogram COMMIT_SECONDS = "gatehouse_store_commit_seconds";
    /// Commands waiting for the writer.
    Gauge QUEUE_DEPTH = "gatehouse_store_queue_depth";
    /// 1 while the store's disk is full and a commit waits for room.
    Gauge STORE_WAITS = "gatehouse_store_waits_for_room";
    /// Bytes free on a disk, by `disk`: `store`, `media`.
    Gauge DISK_FREE = "gatehouse_disk_free_bytes";
    /// 1 while a disk has less free than its mark and new tasks are refused, by `disk`.
    Gauge DISK_LOW = "gatehouse_disk_low";
    /// Bytes copied into the media store.
    Counter MEDIA_BYTES = "gatehouse_media_bytes_total";
}
