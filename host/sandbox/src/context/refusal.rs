//! The provider's HTTP errors: one constructor an error, one place that writes their bodies.

use http::Response;
use serde_json::{Value, json};

use crate::common::kept::cut_texts;
use crate::common::server::{self, Body, UNAVAILABLE_PAGE};

/// An error that repeats a value cuts longer texts: the real provider sends a whole image back.
const ECHO_CHARS: usize = 256;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Also for the record.
    pub(crate) status: u16,
    mime: &'static str,
    body: String,
    /// `Retry-After`, in seconds.
    retry_after_s: Option<u64>,
}

/// Constructors of errors whose body is one sentence.
macro_rules! details {
    ($($(#[$doc:meta])* $name:ident $status:literal $text:literal;)*) => {
        $($(#[$doc])* pub(crate) fn $name() -> Self { Self::detail($status, $text) })*
    };
}

impl Refusal {
    details! {
        insufficient_credits 402 "Insufficient credits";
        /// No key, or not one of ours. The real provider never answers 401.
        unauthenticated 403 "Not authenticated - Invalid Authentication";
        /// For a path the listener does not serve.
        not_found 404 "Not Found";
        too_large 413 "Request Entity Too Large";
        /// For a key no account could have.
        malformed_key 422 "Invalid API key format";
    }

    fn detail(status: u16, detail: impl Into<Value>) -> Self {
        let body = json!({ "detail": detail.into() }).to_string();
        Self { status, mime: "application/json", body, retry_after_s: None }
    }

    /// 422 with the list of what is wrong with the body.
    pub(crate) fn schema(field_errors: Vec<Value>) -> Self {
        Self::detail(422, field_errors)
    }

    /// 422 with one error.
    pub(crate) fn field(kind: &str, loc: Value, msg: &str, input: &Value, ctx: Option<Value>) -> Self {
        Self::schema(vec![field_error(kind, loc, msg, input, ctx)])
    }

    /// 429: the account has as many jobs under way as it may have.
    pub(crate) fn too_many() -> Self {
        let text = "Too many requests: the limit of active tasks is reached, try again later";
        Self { retry_after_s: Some(1), ..Self::detail(429, text) }
    }

    /// 500 in plain text, as after a crash.
    pub(crate) fn broken() -> Self {
        let (mime, body) = ("text/plain; charset=utf-8", "Internal Server Error".to_owned());
        Self { status: 500, mime, body, retry_after_s: None }
    }

    /// 503 in the HTML of a proxy in front of the provider.
    pub(crate) fn unavailable() -> Self {
        Self { status: 503, mime: "text/html", body: UNAVAILABLE_PAGE.to_owned(), retry_after_s: None }
    }

    /// The reply.
    pub(crate) fn response(self) -> Response<Body> {
        let response = server::reply(self.status, self.mime, self.body);
        match self.retry_after_s {
            Some(seconds) => server::with(response, "retry-after", &seconds.to_string()),
            None => response,
        }
    }
}

/// 405 and the methods that are served.
pub(crate) fn not_allowed(methods: &str) -> Response<Body> {
    server::with(Refusal::detail(405, "Method Not Allowed").response(), "allow", methods)
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
    cut_texts("", value, |_, text| {
        let (end, _) = text.char_indices().nth(ECHO_CHARS)?;
        Some(format!("{}...", &text[..end]))
    })
}
