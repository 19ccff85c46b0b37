//! The only file with status codes of errors and with error envelopes (spec "Errors"; decisions "Envelope").
//!
//! All other code names a [`Kind`]; the table maps it to what a client reads. Four forms: the generic
//! envelope, the journey family's (two other `type` words), the messages endpoint's, and OpenAI's for what has OpenAI's
//! shape. Never decides which error a request gets.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{RequestId, UnixMs};
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};

use crate::response::{ResponseBody, json_bytes};

/// What an endpoint returns.
pub(crate) type Outcome = Result<Response<ResponseBody>, Refusal>;

/// The kinds of refusal that a client can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Invalid,
    UnknownModel,
    UnknownResponse,
    /// The conversation is longer than the model reads: clients that know the reason shorten theirs.
    ContextTooLong,
    /// What was asked for, or what was made of it, may not be shown.
    Moderated,
    Unauthenticated,
    InsufficientBalance,
    QuotaExceeded,
    Forbidden,
    ModelForbidden,
    NetworkForbidden,
    LinkExpired,
    NotFound,
    UnknownPath,
    ModelNotFound,
    WrongMethod,
    RequestTimeout,
    Conflict,
    TooLarge,
    WrongMediaType,
    BadRange,
    IdempotencyConflict,
    RateLimited,
    HeadTooLarge,
    Internal,
    BadGateway,
    /// The gateway's own account at a provider is refused: no repetition helps, the operator has to act.
    UpstreamAccount,
    UpstreamTimeout,
    /// A task goes on longer than its client waits: a repetition would make another one.
    StillRunning,
    /// The model's family is switched off, or its provider has no account: no repetition helps, the operator has to act.
    NotServed,
    Busy,
    Draining,
    DiskFull,
}

/// One line of the error table.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    kind: Kind,
    /// HTTP status of most forms, also `error.code` of the generic form.
    pub status: u16,
    /// `error.type` of the generic form.
    pub type_word: &'static str,
    /// `error.reason` of the generic form.
    pub reason: &'static str,
    /// `error.code` of the messages form.
    pub messages_code: &'static str,
    /// Whether the same request may succeed later.
    pub retry: bool,
}

const fn row(
    kind: Kind,
    status: u16,
    type_word: &'static str,
    reason: &'static str,
    messages_code: &'static str,
) -> ErrorRow {
    let lasts = matches!(kind, Kind::UpstreamAccount | Kind::NotServed | Kind::StillRunning);
    let retry = matches!(status, 408 | 429 | 500..) && !lasts;
    ErrorRow { kind, status, type_word, reason, messages_code, retry }
}

/// Seconds of the longest `Retry-After` (spec/decisions.md, "Retry hints").
const MAX_RETRY_AFTER: u64 = 60;

const INVALID: &str = "invalid_request_error";

impl ErrorRow {
    /// The HTTP status in a form. Clients of responses ask again and again after one of 5xx, whatever else they are told: what
    /// no repetition helps is no 5xx for them.
    pub(crate) fn status_in(&self, form: Form) -> u16 {
        let stops = form == Form::Responses && matches!(self.kind, Kind::UpstreamAccount | Kind::NotServed);
        if stops { 403 } else { self.status }
    }

    /// The `code` that OpenAI's clients act on.
    pub(crate) fn openai_code(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Invalid => None,
            Kind::RateLimited => Some("rate_limit_exceeded"),
            Kind::InsufficientBalance | Kind::QuotaExceeded => Some("insufficient_quota"),
            _ => Some(self.reason),
        }
    }

    /// `error.type` of the journey form: it has its own word for two of them (spec "Generic envelope").
    pub(crate) fn journey_word(&self) -> &'static str {
        match self.type_word {
            "not_found_error" => "not_found",
            "server_error" => "internal_error",
            word => word,
        }
    }
}

/// One row for each [`Kind`]. Statuses that the specification does not list use its type word for an invalid
/// request.
#[rustfmt::skip]
static TABLE: [ErrorRow; 33] = [
    row(Kind::Invalid,             400, INVALID,                "invalid_request", "invalid_request"),
    row(Kind::UnknownModel,        400, INVALID,                "model_not_found", "model_not_found"),
    row(Kind::UnknownResponse,     400, INVALID,                "previous_response_not_found", "invalid_request"),
    row(Kind::ContextTooLong,      400, INVALID,                "context_length_exceeded", "invalid_request"),
    row(Kind::Moderated,           400, INVALID,                "content_policy_violation", "invalid_request"),
    row(Kind::Unauthenticated,     401, "authentication_error", "invalid_api_key", "authentication_error"),
    row(Kind::InsufficientBalance, 402, "payment_required",     "insufficient_balance", "payment_required"),
    row(Kind::QuotaExceeded,       402, "payment_required",     "quota_exceeded", "payment_required"),
    row(Kind::Forbidden,           403, "permission_error",     "forbidden", "permission_error"),
    row(Kind::ModelForbidden,      403, "permission_error",     "model_forbidden", "permission_error"),
    row(Kind::NetworkForbidden,    403, "permission_error",     "ip_forbidden", "permission_error"),
    row(Kind::LinkExpired,         403, "permission_error",     "link_expired", "permission_error"),
    row(Kind::NotFound,            404, "not_found_error",      "not_found", "not_found"),
    row(Kind::UnknownPath,         404, "not_found_error",      "unknown_path", "not_found"),
    row(Kind::ModelNotFound,       404, "not_found_error",      "model_not_found", "model_not_found"),
    row(Kind::WrongMethod,         405, INVALID,                "method_not_allowed", "invalid_request"),
    row(Kind::RequestTimeout,      408, INVALID,                "request_timeout", "invalid_request"),
    row(Kind::Conflict,            409, INVALID,                "conflict", "invalid_request"),
    row(Kind::TooLarge,            413, INVALID,                "request_too_large", "request_too_large"),
    row(Kind::WrongMediaType,      415, INVALID,                "unsupported_media_type", "invalid_request"),
    row(Kind::BadRange,            416, INVALID,                "range_not_satisfiable", "invalid_request"),
    row(Kind::IdempotencyConflict, 422, INVALID,                "idempotency_conflict", "invalid_request"),
    row(Kind::RateLimited,         429, "rate_limit_error",     "rate_limited", "rate_limited"),
    row(Kind::HeadTooLarge,        431, INVALID,                "headers_too_large", "request_too_large"),
    row(Kind::Internal,            500, "server_error",         "internal_error", "internal_error"),
    row(Kind::BadGateway,          502, "bad_gateway",          "upstream_error", "upstream_error"),
    row(Kind::UpstreamAccount,     502, "bad_gateway",          "upstream_error", "upstream_error"),
    row(Kind::UpstreamTimeout,     502, "bad_gateway",          "upstream_timeout", "upstream_timeout"),
    row(Kind::StillRunning,        504, "timeout_error",        "task_running", "upstream_timeout"),
    row(Kind::NotServed,           503, "service_unavailable",  "model_not_served", "upstream_unavailable"),
    row(Kind::Busy,                503, "service_unavailable",  "busy", "upstream_unavailable"),
    row(Kind::Draining,            503, "service_unavailable",  "restarting", "upstream_unavailable"),
    row(Kind::DiskFull,            503, "service_unavailable",  "disk_full", "upstream_unavailable"),
];

/// Every error a client can get, for documentation and tests.
#[must_use]
pub fn error_table() -> &'static [ErrorRow] {
    &TABLE
}

/// Which envelope an endpoint family uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Generic,
    Journey,
    Messages,
    /// OpenAI's own, of responses.
    Responses,
    /// The same, of what no agent asks again and again.
    OpenAi,
}

impl Form {
    /// The form of a path; also of the same path without `/v1` or with several.
    pub(crate) fn of(path: &str) -> Self {
        let mut segments = path.split('/').skip(1).skip_while(|segment| *segment == "v1");
        match segments.next() {
            Some("messages") => Self::Messages,
            Some("responses") => Self::Responses,
            Some("embeddings" | "completions") => Self::OpenAi,
            Some("models") if segments.next().is_some() => Self::OpenAi,
            Some("images") if segments.next() == Some("edits") => Self::OpenAi,
            Some("videos") => match (segments.next(), segments.next()) {
                // The specification's.
                (Some("generations"), _) | (_, Some("remix")) => Self::Generic,
                _ => Self::OpenAi,
            },
            Some("journey") => Self::Journey,
            _ => Self::Generic,
        }
    }
}

/// Why a request gets an error response.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Detail>);

#[derive(Debug)]
struct Detail {
    kind: Kind,
    message: Cow<'static, str>,
    param: Option<String>,
    /// The form, where it is not that of the request's path.
    form: Option<Form>,
    extra: Option<(header::HeaderName, HeaderValue)>,
    retry_after: Option<Duration>,
    /// When the quota resets that does not allow the request.
    resets: Option<UnixMs>,
    /// Whether the same request may succeed later, where that differs from its kind's.
    is_retryable: Option<bool>,
    cause: Option<String>,
}

impl Refusal {
    pub(crate) fn new(kind: Kind, message: impl Into<Cow<'static, str>>) -> Self {
        let (message, retry_after) = (message.into(), default_retry_after(kind));
        Self(Box::new(Detail {
            kind,
            message,
            param: None,
            form: None,
            extra: None,
            retry_after,
            resets: None,
            is_retryable: None,
            cause: None,
        }))
    }

    /// An invalid request, with its wrong field or parameter.
    pub(crate) fn field(param: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Invalid, message).with_param(param)
    }

    /// A failure of the gateway. The cause goes to the log only, never to the client.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        let mut refusal = Self::new(Kind::Internal, "the gateway could not answer this request");
        refusal.0.cause = Some(cause.to_string());
        refusal
    }

    /// With the wrong field or parameter.
    pub(crate) fn with_param(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// In that form, whatever the path.
    pub(crate) fn in_form(mut self, form: Form) -> Self {
        self.0.form = Some(form);
        self
    }

    /// With one more header on the response.
    pub(crate) fn with_header(mut self, name: header::HeaderName, value: &str) -> Self {
        self.0.extra = HeaderValue::from_str(value).ok().map(|value| (name, value));
        self
    }

    /// A repetition would pay again for what was done before it failed.
    pub(crate) fn never_repeated(mut self) -> Self {
        self.0.is_retryable = Some(false);
        self
    }

    /// With another `Retry-After` than the kind's, if there is one.
    pub(crate) fn with_retry_after(mut self, pause: Option<Duration>) -> Self {
        self.0.retry_after = pause.or(self.0.retry_after);
        self
    }

    /// With the seconds until the same request passes. A client is not told to wait for more than a minute: SDKs would
    /// sleep that long, or give up. The message says the time.
    pub(crate) fn with_wait(mut self, seconds: Option<u64>) -> Self {
        if let Some(seconds) = seconds {
            self.0.retry_after = Some(Duration::from_secs(seconds));
            self.0.is_retryable = Some(seconds <= MAX_RETRY_AFTER);
        }
        self
    }

    /// With the moment from which on a quota allows the same request.
    pub(crate) fn with_reset(mut self, resets: Option<UnixMs>) -> Self {
        self.0.resets = resets;
        self
    }

    /// The cause for the operator's log.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }

    /// For those who are no clients: the error's row, its message and its field.
    pub(crate) fn parts(&self) -> (&'static ErrorRow, &str, Option<&str>) {
        (self.row(), &self.0.message, self.0.param.as_deref())
    }

    #[cfg(test)]
    pub(crate) fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The response in the form of its endpoint family.
    pub(crate) fn into_response(self, form: Form, id: RequestId, now: UnixMs) -> Response<ResponseBody> {
        let form = self.0.form.unwrap_or(form);
        let (row, body) = (self.row(), self.body(form, id));
        let mut response = Response::new(ResponseBody::Whole(body));
        *response.status_mut() =
            StatusCode::from_u16(row.status_in(form)).expect("the table holds valid statuses");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if !self.0.is_retryable.unwrap_or(row.retry) {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        if row.status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(pause) = self.0.retry_after {
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(whole_seconds(pause).clamp(1, MAX_RETRY_AFTER)),
            );
        }
        if let Some(resets) = self.0.resets {
            let value = HeaderValue::try_from(resets.to_string()).expect("a moment is ASCII");
            headers.insert("x-quota-reset", value);
            // No client repeats such a request by itself, so the time may be the true one, however long.
            headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(resets - now).max(1)));
        }
        if let Some((name, value)) = self.0.extra {
            headers.insert(name, value);
        }
        response
    }

    fn row(&self) -> &'static ErrorRow {
        TABLE.iter().find(|row| row.kind == self.0.kind).expect("every kind has its row")
    }

    /// The error of the responses form.
    fn openai(&self) -> Value {
        let row = self.row();
        let mut error = json!({
            "message": self.0.message,
            "type": row.type_word,
            "param": self.0.param,
            "code": row.openai_code(),
        });
        if let Some(resets) = self.resets_at() {
            error["resets_at"] = resets.into();
        }
        error
    }

    /// The error inside a response that has begun. Its codes are a closed list.
    pub(crate) fn in_response(&self) -> Value {
        let row = self.row();
        let code = match row.kind {
            Kind::ContextTooLong => row.reason,
            Kind::Invalid | Kind::TooLarge => "invalid_prompt",
            Kind::RateLimited => "rate_limit_exceeded",
            // Clients ask again and again after anything else.
            Kind::UpstreamAccount | Kind::NotServed => "insufficient_quota",
            _ => "server_error",
        };
        json!({"code": code, "message": self.0.message, "type": row.type_word, "param": self.0.param})
    }

    /// What newer clients of Messages act on: those with a thread ask again without one.
    fn details(&self) -> Details<'_> {
        let row = self.row();
        match self.0.param.as_deref() {
            Some(field @ "thread") if row.kind == Kind::Invalid => {
                Details { error_code: "thread_unsupported_request", unsupported: Some([field]) }
            }
            _ => Details { error_code: row.messages_code, unsupported: None },
        }
    }

    /// The envelope as JSON.
    pub(crate) fn body(&self, form: Form, id: RequestId) -> Bytes {
        let row = self.row();
        if form == Form::Messages {
            let message = format!("{} (request id: {id})", self.0.message);
            return json_bytes(&MessagesError {
                kind: "error",
                error: MessagesDetail {
                    kind: "gateway_error",
                    code: row.messages_code,
                    message,
                    resets_at: self.resets_at(),
                    details: self.details(),
                },
                request_id: id,
            });
        }
        if matches!(form, Form::Responses | Form::OpenAi) {
            return json_bytes(&json!({"error": self.openai()}));
        }
        json_bytes(&GenericError {
            error: GenericDetail {
                code: row.status,
                message: &self.0.message,
                kind: if form == Form::Journey { row.journey_word() } else { row.type_word },
                reason: row.reason,
                param: self.0.param.as_deref(),
                resets_at: self.resets_at(),
            },
        })
    }

    fn resets_at(&self) -> Option<String> {
        self.0.resets.map(|resets| resets.to_string())
    }
}

/// Rounded up: a client that comes a moment early is refused again.
pub(crate) fn whole_seconds(pause: Duration) -> u64 {
    pause.as_secs().saturating_add(u64::from(pause.subsec_nanos() > 0))
}

/// `Retry-After` of a kind without a better one.
fn default_retry_after(kind: Kind) -> Option<Duration> {
    match kind {
        Kind::Busy | Kind::RateLimited => Some(Duration::from_secs(1)),
        Kind::Draining => Some(Duration::from_secs(5)),
        // Space is made by an operator, not within a second.
        Kind::DiskFull => Some(Duration::from_secs(30)),
        _ => None,
    }
}

#[derive(Serialize)]
struct GenericError<'a> {
    error: GenericDetail<'a>,
}

#[derive(Serialize)]
struct GenericDetail<'a> {
    code: u16,
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
}

#[derive(Serialize)]
struct MessagesError<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: MessagesDetail<'a>,
    request_id: RequestId,
}

#[derive(Serialize)]
struct MessagesDetail<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
    details: Details<'a>,
}

/// Where newer Anthropic clients look for the code.
#[derive(Serialize)]
struct Details<'a> {
    error_code: &'static str,
    /// What the client is to leave out, and then ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsupported: Option<[&'a str; 1]>,
}
