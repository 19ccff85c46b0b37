//! The errors of the chat completions: one constructor an error, one place that writes their bodies.

use http::StatusCode;
use serde_json::{Value, json};

use crate::text::delivery::reply::ErrorReply;
use crate::text::markers::Marker;

const INVALID: &str = "invalid_request_error";

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: u16,
    message: String,
    kind: &'static str,
    param: Option<String>,
    code: Option<&'static str>,
    retry_after: bool,
    /// A page of the proxy that stands before the provider, instead of all that.
    html: Option<&'static str>,
    /// Only once the sandbox lets go.
    late: bool,
}

impl Refusal {
    fn new(status: u16, kind: &'static str, code: Option<&'static str>, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            kind,
            param: None,
            code,
            retry_after: false,
            html: None,
            late: false,
        }
    }

    /// 400 about one parameter.
    pub(super) fn invalid(param: &str, code: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(400, INVALID, code, message) }
    }

    /// 400 about the whole request.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(400, INVALID, None, message)
    }

    pub(super) fn no_key() -> Self {
        let words = "You didn't provide an API key. You need to provide your API key in an Authorization header using \
                     Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
        Self::new(401, INVALID, None, words)
    }

    pub(super) fn key(key: &str) -> Self {
        let shown: String = key.chars().take(8).collect();
        let words = format!(
            "Incorrect API key provided: {shown}********. You can find your API key at \
             https://platform.openai.com/account/api-keys."
        );
        Self::new(401, INVALID, Some("invalid_api_key"), words)
    }

    pub(super) fn quota() -> Self {
        let words = "You exceeded your current quota, please check your plan and billing details.";
        Self::new(429, "insufficient_quota", Some("insufficient_quota"), words)
    }

    pub(super) fn forbidden() -> Self {
        Self::new(403, INVALID, Some("model_not_allowed"), "Project does not have access to this model.")
    }

    pub(super) fn model(name: &str) -> Self {
        let words = format!("The model `{name}` does not exist or you do not have access to it.");
        Self::new(404, INVALID, Some("model_not_found"), words)
    }

    pub(super) fn path(method: &str, path: &str) -> Self {
        Self::new(404, INVALID, Some("unknown_url"), format!("Unknown request URL: {method} {path}."))
    }

    pub(super) fn method(method: &str) -> Self {
        let words = format!("Not allowed to {method} on /v1/chat/completions.");
        Self::new(405, INVALID, Some("method_not_supported"), words)
    }

    pub(super) fn too_large() -> Self {
        Self::new(413, INVALID, None, "Request body is too large.")
    }

    pub(super) fn limited(model: &str) -> Self {
        let words = format!(
            "Rate limit reached for {model} in organization org-sandbox on requests per min (RPM): Limit 3, Used 3, \
             Requested 1. Please try again in 1s."
        );
        Self { retry_after: true, ..Self::new(429, "requests", Some("rate_limit_exceeded"), words) }
    }

    pub(super) fn overloaded(status: u16) -> Self {
        Self::new(status, "server_error", None, "The server is currently overloaded with other requests.")
    }

    /// The same, once the sandbox lets go.
    pub(super) fn late(self, late: bool) -> Self {
        Self { late, ..self }
    }

    pub(super) fn is_late(&self) -> bool {
        self.late
    }

    /// What a marker answers with; a mark that refuses nothing is an internal error of the sandbox.
    pub(super) fn marked(mark: Marker, model: &str) -> Self {
        match mark {
            Marker::Invalid => Self::invalid("messages", Some("invalid_value"), "ErrorReply on purpose."),
            Marker::Key => Self::key("sandbox-key"),
            Marker::Billing => Self::new(402, "billing_error", None, "Insufficient balance."),
            Marker::Forbidden => Self::forbidden(),
            Marker::Missing => Self::model(model),
            Marker::TooLarge => Self::too_large(),
            Marker::TooMany => Self::limited(model),
            Marker::TooManyBare => Self { retry_after: false, ..Self::limited(model) },
            Marker::Quota => Self::quota(),
            Marker::Html => Self {
                html: Some("<html><head><title>502 Bad Gateway</title></head><body>502</body></html>\n"),
                ..Self::overloaded(502)
            },
            Marker::Unavailable => Self::overloaded(503),
            Marker::Late => Self::new(504, "server_error", None, "The request timed out."),
            Marker::Overloaded => Self::overloaded(529),
            _ => Self::server(),
        }
    }

    pub(super) fn server() -> Self {
        let words = "The server had an error while processing your request. Sorry about that!";
        Self::new(500, "server_error", None, words)
    }

    /// The body, also inside a stream.
    pub(super) fn body(&self) -> Value {
        json!({ "error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        } })
    }

    /// As it goes out.
    pub(super) fn refused(self, retry_after_s: u64, mut headers: Vec<(&'static str, String)>) -> ErrorReply {
        if self.retry_after {
            headers.push(("retry-after", retry_after_s.to_string()));
            headers.push(("retry-after-ms", (retry_after_s * 1000).to_string()));
        }
        let (mime, body) = match self.html {
            Some(page) => ("text/html", page.to_owned()),
            None => ("application/json", self.body().to_string()),
        };
        let status = StatusCode::from_u16(self.status).expect("constructors give statuses of three digits");
        ErrorReply { status, mime, body, headers }
    }
}
