//! The parameters of routes: what stands in queries and headers, as the documentation has it.

use gatehouse_docs::Parameter;

const fn query(name: &'static str, schema: &'static str, help: &'static str) -> Parameter {
    Parameter { name, at: "query", schema, help }
}

const fn header(name: &'static str, schema: &'static str, help: &'static str) -> Parameter {
    Parameter { name, at: "header", schema, help }
}

/// How many of them a page has, 20 where it is not said.
const fn limit(help: &'static str) -> Parameter {
    query("limit", r#"{"type": "integer", "minimum": 1, "maximum": 100, "default": 20}"#, help)
}

const DATE: &str = r#"{"type": "string", "format": "date"}"#;
const TEXT: &str = r#"{"type": "string"}"#;
const NAME: &str = r#"{"type": "string", "minLength": 1}"#;
const IDEMPOTENCY_KEY: &str = r#"{"type": "string", "pattern": "^[!-~]{1,255}$"}"#;
const WAIT_SCHEMA: &str = r#"{"type": "string", "examples": ["wait=30"]}"#;
pub(super) const WAIT: &[Parameter] = &[header(
    "Prefer",
    WAIT_SCHEMA,
    "`wait=N`: answer once the task has ended, after N seconds (60 at most) in any case.",
)];
pub(super) const RESUME: &[Parameter] = &[
    header("Last-Event-ID", TEXT, "The last event that the client has."),
    query("after", TEXT, "The same, for clients that cannot set headers."),
];
pub(super) const PAGE: &[Parameter] = &[
    limit("Tasks of a page."),
    query(
        "after",
        r#"{"type": "string", "pattern": "^task_[0-9A-HJKMNP-TV-Z]{26}$"}"#,
        "`last_id` of the page before.",
    ),
    query(
        "status",
        r#"{"enum": ["submitted", "pending", "processing", "completed", "failed"]}"#,
        "Only tasks of this status.",
    ),
    query("model", NAME, "Only tasks of this model."),
];
pub(super) const REPLAY: &[Parameter] = &[
    query("stream", r#"{"type": "boolean", "default": false}"#, "Whether its events come again."),
    query(
        "starting_after",
        r#"{"type": "integer", "minimum": 0}"#,
        "The number of the last event that the client has; of a response that was streamed.",
    ),
];
pub(super) const USAGE_FILTER: &[Parameter] = &[
    query("from", DATE, "The first day; absent: 30 days before `to`."),
    query("to", DATE, "The day after the last one, at most 366 days after `from`; absent: tomorrow."),
    query("key", NAME, "Only this key's."),
    query("model", NAME, "Only this model's."),
    query(
        "limit",
        r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}"#,
        "Rows of a page.",
    ),
    query("after", TEXT, "`next` of the page before."),
];
pub(super) const ITEMS: &[Parameter] = &[
    limit("Items of a page."),
    query("order", r#"{"enum": ["asc", "desc"], "default": "desc"}"#, "Oldest or newest first."),
    query("after", TEXT, "The item after which the page begins."),
];
pub(super) const VERSIONED: &[Parameter] =
    &[header("anthropic-version", TEXT, "Clients that send it get the shape of the messages protocol.")];
pub(super) const FORMAT: &[Parameter] = &[header(
    "x-response-format",
    r#"{"enum": ["wrapped", "bare"]}"#,
    "Whether the completion comes inside of `{code, data}`; by default as the key says.",
)];
const RECOGNISED: Parameter = header(
    "Idempotency-Key",
    IDEMPOTENCY_KEY,
    "The same key and request give the same receipt again, for a day, with `Idempotency-Replayed: true`.",
);
pub(super) const IDEMPOTENCY: &[Parameter] = &[RECOGNISED];
pub(super) const SUBMISSION: &[Parameter] = &[
    RECOGNISED,
    header(
        "Prefer",
        WAIT_SCHEMA,
        "`wait=N`: answer with the task once it has ended, with the receipt after N seconds (60 at most). A client that leaves \
         changes nothing: the task goes on.",
    ),
];
pub(super) const DELIVERY_PAGE: &[Parameter] = &[
    limit("Deliveries of a page."),
    query(
        "after",
        r#"{"type": "string", "pattern": "^msg_[0-9A-HJKMNP-TV-Z]{26}$"}"#,
        "`last_id` of the page before.",
    ),
];
pub(super) const VIDEO_PAGE: &[Parameter] = &[
    limit("Videos of a page."),
    query("after", TEXT, "The last video of the page before."),
    query("order", r#"{"enum": ["desc"], "default": "desc"}"#, "Newest first, which is all there is."),
];
pub(super) const VARIANT: &[Parameter] =
    &[query("variant", r#"{"enum": ["video"], "default": "video"}"#, "The video, which is all there is.")];
pub(super) const KEPT_ANSWER: &[Parameter] = &[header(
    "Idempotency-Key",
    IDEMPOTENCY_KEY,
    "The same key and request give the same answer again, for a day, with `Idempotency-Replayed: true`; 409 while the first one is \
     made, and where its answer was longer than 8 MiB or had to make room. A restart forgets it.",
)];
pub(super) const SIGNATURE: &[Parameter] = &[
    query("expires", TEXT, "Until when the link is valid."),
    query("signature", TEXT, "Made with the link."),
];
pub(super) const CONDITION: &[Parameter] =
    &[header("If-None-Match", TEXT, "The `ETag` that the client has.")];
