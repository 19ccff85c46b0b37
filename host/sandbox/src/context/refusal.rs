//! The provider's HTTP errors: one constructor an error, one place that writes their bodies.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::common::server::{self, Body};

/// An error that repeats a value cuts longer texts: the real provider sends a whole image back.
const ECHO_CHARS: usize = 256;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    body: RefusalBody,
    /// `Retry-After`, in seconds.
    retry_after_s: Option<u64>,
}

#[derive(Debug)]
enum RefusalBody {
    Json(Value),
    Html(&'static str),
    Text(&'static str),
}

impl Refusal {
    fn detail(status: StatusCode, detail: impl Into<Value>) -> Self {
        Self { status, body: RefusalBody::Json(json!({ "detail": detail.into() })), retry_after_s: None }
    }

    /// 402.
    pub(crate) fn insufficient_credits() -> Self {
        Self::detail(StatusCode::PAYMENT_REQUIRED, "Insufficient credits")
    }

    /// 403: no key, or not one of ours. The real provider never answers 401.
    pub(crate) fn unauthenticated() -> Self {
        Self::detail(StatusCode::FORBIDDEN, "Not authenticated - Invalid Authentication")
    }

    /// 404 for a path the listener does not serve.
    pub(crate) fn not_found() -> Self {
        Self::detail(StatusCode::NOT_FOUND, "Not Found")
    }

    /// 405.
    pub(crate) fn method() -> Self {
        Self::detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
    }

    /// 413.
    pub(crate) fn too_large() -> Self {
        Self::detail(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")
    }

    /// 422 for a key no account could have.
    pub(crate) fn malformed_key() -> Self {
        Self::detail(StatusCode::UNPROCESSABLE_ENTITY, "Invalid API key format")
    }

    /// 422 with the list of what is wrong with the body.
    pub(crate) fn schema(field_errors: Vec<Value>) -> Self {
        Self::detail(StatusCode::UNPROCESSABLE_ENTITY, field_errors)
    }

    /// 429: the account has as many jobs under way as it may have.
    pub(crate) fn too_many() -> Self {
        let text = "Too many requests: the limit of active tasks is reached, try again later";
        Self { retry_after_s: Some(1), ..Self::detail(StatusCode::TOO_MANY_REQUESTS, text) }
    }

    /// 500 in plain text, as after a crash.
    pub(crate) fn broken() -> Self {
        let body = RefusalBody::Text("Internal Server Error");
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, body, retry_after_s: None }
    }

    /// 503 in the HTML of a proxy in front of the provider.
    pub(crate) fn unavailable() -> Self {
        let body =
            RefusalBody::Html("<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>\n");
        Self { status: StatusCode::SERVICE_UNAVAILABLE, body, retry_after_s: None }
    }

    /// The status on its own, for the record.
    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The reply.
    pub(crate) fn response(self) -> Response<Body> {
        let response = match self.body {
            RefusalBody::Json(value) => server::json(self.status, &value),
            RefusalBody::Html(text) => server::reply(self.status, "text/html", text),
            RefusalBody::Text(text) => server::reply(self.status, "text/plain; charset=utf-8", text),
        };
        match self.retry_after_s {
            Some(seconds) => server::with(response, "retry-after", &seconds.to_string()),
            None => response,
        }
    }
}

/// One entry of a 422's `detail`.
pub(crate) fn field_error(kind: &str, loc: Value, msg: &str, input: &Value, ctx: Option<Value>) -> Value {
    let mut entry = json!({ "type": kind, "loc": loc, "msg": msg, "input": brief(input) });
    if let Some(ctx) = ctx {
        entry["ctx"] = ctx;
    }
    entry
}

/// The same value with its long texts cut.
pub(crate) fn brief(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(ECHO_CHARS) {
            Some((end, _)) => Value::String(format!("{}...", &text[..end])),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(brief).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), brief(value))).collect(),
        other => other.clone(),
    }
}
