//! The names of all metrics, in one table.
//!
//! Labels never carry a key, a task or a request id.

/// Requests by `surface` and `status`.
pub const REQUESTS: &str = "gatehouse_http_requests_total";
/// Seconds from a request's head to the end of its answer, by `surface`.
pub const REQUEST_SECONDS: &str = "gatehouse_http_request_seconds";
/// Open client connections.
pub const CONNECTIONS: &str = "gatehouse_http_connections";
/// Tokens charged for, by `model` and `kind`.
pub const TOKENS: &str = "gatehouse_tokens_total";
/// Micro-credits that texts cost above what their customers had, by `model`: the operator's cost.
pub const UNPAID: &str = "gatehouse_unpaid_micro_credits_total";
/// Tasks accepted, by `model`.
pub const TASKS_ACCEPTED: &str = "gatehouse_tasks_accepted_total";
/// Tasks refused because they could not begin before their time limit, by `model`.
pub const TASKS_TOO_LATE: &str = "gatehouse_tasks_too_late_total";
/// Requests that joined a living task, by `model`.
pub const TASKS_JOINED: &str = "gatehouse_tasks_joined_total";
/// Tasks ended, by `model` and `outcome`.
pub const TASKS_ENDED: &str = "gatehouse_tasks_ended_total";
/// Tasks not yet ended.
pub const TASKS_LIVE: &str = "gatehouse_tasks_live";
/// Seconds a due task waited for the scheduler.
pub const LATENESS_SECONDS: &str = "gatehouse_scheduler_lateness_seconds";
/// Calls whose outcome was unknown, by `policy`: "resend" or "refund" after a restart, "ask" where an operator is asked.
pub const AMBIGUOUS: &str = "gatehouse_ambiguous_calls_total";
/// Tasks whose call waits for an operator's ruling.
pub const TASKS_AMBIGUOUS: &str = "gatehouse_tasks_ambiguous";
/// Rulings of operators about ambiguous calls, by `ruling`.
pub const RULINGS: &str = "gatehouse_ambiguous_rulings_total";
/// Upstream calls by `provider` and `outcome`.
pub const CALLS: &str = "gatehouse_upstream_calls_total";
/// Seconds of an upstream call, by `provider`.
pub const CALL_SECONDS: &str = "gatehouse_upstream_call_seconds";
/// Requests and tasks that wait for a permit, by `provider`.
pub const WAITING: &str = "gatehouse_upstream_waiting";
/// Seconds they waited until they got one, by `provider`.
pub const WAIT_SECONDS: &str = "gatehouse_upstream_wait_seconds";
/// Permits taken back from streams whose client had left, by `provider`.
pub const RECLAIMED: &str = "gatehouse_upstream_reclaimed_permits_total";
/// 1 while a provider account's breaker is open, by `provider` and `account`.
pub const BREAKER_OPEN: &str = "gatehouse_upstream_breaker_open";
/// 1 while a provider has answered an account with "too many requests" alone for minutes, by `provider` and `account`.
pub const RATE_LIMITED: &str = "gatehouse_upstream_account_rate_limited";
/// A provider refused an account's credentials or credit, or its token was not renewed, by `provider` and `account`.
pub const ACCOUNT_ERRORS: &str = "gatehouse_upstream_account_errors_total";
/// Plugin calls by `family`, `function` and `outcome`.
pub const PLUGIN_CALLS: &str = "gatehouse_plugin_calls_total";
/// Plugin instances made, by `family`: one for each call, but one for a text request or stream.
pub const PLUGIN_INSTANCES: &str = "gatehouse_plugin_instances_total";
/// New work refused because its customer has filled the family's queue, by `family`.
pub const PLUGIN_QUEUE_FULL: &str = "gatehouse_plugin_queue_full_total";
/// Seconds of a plugin call, by `family`.
pub const PLUGIN_SECONDS: &str = "gatehouse_plugin_call_seconds";
/// Calls that faulted in a fresh version and were answered by another one, by `family` and `function`.
pub const PLUGIN_FALLBACKS: &str = "gatehouse_plugin_fallbacks_total";
/// Versions rolled back by the canary, by `family`.
pub const PLUGIN_ROLLED_BACK: &str = "gatehouse_plugin_rolled_back_total";
/// Batches committed.
pub const COMMITS: &str = "gatehouse_store_commits_total";
/// Commands in one batch.
pub const BATCH_SIZE: &str = "gatehouse_store_batch_commands";
/// Seconds of one commit.
pub const COMMIT_SECONDS: &str = "gatehouse_store_commit_seconds";
/// Commands waiting for the writer.
pub const QUEUE_DEPTH: &str = "gatehouse_store_queue_depth";
/// 1 while the store's disk is full and a commit waits for room.
pub const STORE_WAITS: &str = "gatehouse_store_waits_for_room";
/// Bytes free on a disk, by `disk`: `store`, `media`.
pub const DISK_FREE: &str = "gatehouse_disk_free_bytes";
/// 1 while a disk has less free than its mark and new tasks are refused, by `disk`.
pub const DISK_LOW: &str = "gatehouse_disk_low";
/// Bytes copied into the media store.
pub const MEDIA_BYTES: &str = "gatehouse_media_bytes_total";
