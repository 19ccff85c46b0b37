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
    /// Seconds of a text request, by `gen_ai_operation_name`, `gen_ai_provider_name`, `gen_ai_request_model` and `error_type`, the status of an error.
    Histogram GEN_AI_DURATION = "gen_ai_server_request_duration_seconds";
    /// Seconds from a text request to the first content of its stream, by operation, provider and model as above.
    Histogram GEN_AI_FIRST_TOKEN = "gen_ai_server_time_to_first_token_seconds";
    /// Seconds that each further token of a stream took, by operation, provider and model as above.
    Histogram GEN_AI_OUTPUT_TOKEN = "gen_ai_server_time_per_output_token_seconds";
    /// Tokens of a text request by `gen_ai_token_type`, "input" or "output", and by operation, provider and model as above.
    Histogram GEN_AI_TOKENS = "gen_ai_client_token_usage";
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
    /// Micro-credits that moved, by `model`, `movement` and `cause`: "held" and "settled" for a "text", an "answer" or a "task" with what joined it, "released" because they were "unused", or the work "failed", was "cancelled" or ran into its "timeout".
    Counter MONEY = "gatehouse_money_micro_credits_total";
    /// Seconds since the oldest open hold was made, by `of`: "request" or "task"; 0 without one.
    Gauge OLDEST_HOLD = "gatehouse_oldest_hold_seconds";
    /// Customers that have no credit.
    Gauge WITHOUT_CREDIT = "gatehouse_customers_without_credit";
    /// Micro-credits by which the ledger did not add up when the doctor looked at it last; 0 before it does.
    Gauge IMBALANCE = "gatehouse_ledger_imbalance_micro_credits";
    /// Deliveries to webhooks that wait.
    Gauge WEBHOOKS_WAITING = "gatehouse_webhook_deliveries_waiting";
    /// Seconds since the oldest delivery was made that waits; 0 without one.
    Gauge WEBHOOKS_OLDEST = "gatehouse_webhook_oldest_delivery_seconds";
    /// Webhooks that do not reach their receiver.
    Gauge WEBHOOKS_FAILING = "gatehouse_webhooks_failing";
    /// Attempts to deliver to a webhook, by `outcome`: "taken", "failed" or "throttled".
    Counter WEBHOOK_ATTEMPTS = "gatehouse_webhook_attempts_total";
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
    /// Upstream calls by `provider`, `account` and `outcome`, a 429 being "rate_limited".
    Counter CALLS = "gatehouse_upstream_calls_total";
    /// Seconds of an upstream call until its reply, or the head of an answer that is streamed, by `provider` and `account`.
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
    /// Seconds until the disk had made sure of what was written, several times in a commit.
    Histogram SYNC_SECONDS = "gatehouse_store_sync_seconds";
    /// Commands waiting for the writer.
    Gauge QUEUE_DEPTH = "gatehouse_store_queue_depth";
    /// 1 while the store's disk is full and a commit waits for room.
    Gauge STORE_WAITS = "gatehouse_store_waits_for_room";
    /// 1 while the engine under the store cannot be reached and a commit waits for it.
    Gauge STORE_UNAVAILABLE = "gatehouse_store_unavailable";
    /// Seconds until another gateway may take over, counted from the last renewal of the lease; of a store in a database.
    Gauge LEASE_SECONDS = "gatehouse_store_lease_seconds";
    /// 1 while this gateway waits to take the place of another one on its database, 0 once it is at work; with `fleet.standby` alone.
    Gauge STANDBY = "gatehouse_standby";
    /// Seconds left of the lease of the gateway at work, by its `name`, as a gateway that waits sees them.
    Gauge AT_WORK_LEASE_SECONDS = "gatehouse_at_work_lease_seconds";
    /// Bytes free on a disk, by `disk`: `store`, `media`.
    Gauge DISK_FREE = "gatehouse_disk_free_bytes";
    /// 1 while a disk has less free than its mark and new tasks are refused, by `disk`.
    Gauge DISK_LOW = "gatehouse_disk_low";
    /// 1, with the `version` of the program.
    Gauge BUILD = "gatehouse_build_info";
    /// 1 for the version of a `family` that is active, 0 for those that were since the start, by `version` and the beginning of its `digest`.
    Gauge PLUGIN_INFO = "gatehouse_plugin_info";
    /// Whole seconds of processor time of this process.
    Counter PROCESS_CPU = "process_cpu_seconds_total";
    /// Bytes of memory of this process that are in use.
    Gauge PROCESS_MEMORY = "process_resident_memory_bytes";
    /// The moment at which this process began, in seconds since 1970.
    Gauge PROCESS_START = "process_start_time_seconds";
    /// The moment at which the certificate of a listener expires, in seconds since 1970, by `table` of the configuration.
    Gauge CERTIFICATE_EXPIRY = "gatehouse_tls_certificate_expiry_timestamp_seconds";
    /// The moment at which the configuration was last read with success, in seconds since 1970.
    Gauge RELOADED = "gatehouse_config_last_reload_success_timestamp_seconds";
    /// 1 while the last reading of the configuration was a success.
    Gauge RELOAD_SUCCEEDED = "gatehouse_config_last_reload_successful";
    /// Spans of traces by `outcome`: "sent" to the collector, or "dropped" because too many waited for it.
    Counter SPANS = "gatehouse_trace_spans_total";
    /// Bytes copied into the media store.
    Counter MEDIA_BYTES = "gatehouse_media_bytes_total";
    /// Requests to the bucket of media that it refused or did not answer, after repetitions.
    Counter MEDIA_BUCKET_ERRORS = "gatehouse_media_bucket_errors_total";
}
