//! The errors of the Messages API: one constructor an error, one place that writes their bodies.

use http::StatusCode;
use serde_json::{Value, json};

use crate::text::delivery::reply::ErrorReply;
use crate::text::markers::Marker;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: u16,
    kind: &'static str,
    pub(super) message: String,
    retry_after: bool,
    /// A page of the proxy that stands before the provider, instead of all that.
    html: Option<&'static str>,
    /// Only once the sandbox lets go.
    late: bool,
}

impl Refusal {
    fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), retry_after: false, html: None, late: false }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    pub(super) fn key(message: &str) -> Self {
        Self::new(401, "authentication_error", message)
    }

    pub(super) fn credit() -> Self {
        Self::invalid(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade \
             or purchase credits.",
        )
    }

    pub(super) fn forbidden() -> Self {
        Self::new(
            403,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        )
    }

    pub(super) fn not_found(what: &str) -> Self {
        Self::new(404, "not_found_error", what)
    }

    pub(super) fn method() -> Self {
        Self::new(405, "invalid_request_error", "Method Not Allowed")
    }

    pub(super) fn too_large() -> Self {
        Self::new(413, "request_too_large", "Request exceeds the maximum size")
    }

    pub(super) fn limited() -> Self {
        let words = "This request would exceed your organization's rate limit. Please try again later.";
        Self { retry_after: true, ..Self::new(429, "rate_limit_error", words) }
    }

    pub(super) fn overloaded() -> Self {
        Self::new(529, "overloaded_error", "Overloaded")
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
            Marker::Invalid => Self::invalid("messages: the request was refused on purpose"),
            Marker::Key => Self::key("invalid x-api-key"),
            Marker::Billing => Self::new(402, "billing_error", "There is a problem with your billing."),
            Marker::Forbidden => Self::forbidden(),
            Marker::Missing => Self::not_found(&format!("model: {model}")),
            Marker::TooLarge => Self::too_large(),
            Marker::TooMany => Self::limited(),
            Marker::TooManyBare => Self { retry_after: false, ..Self::limited() },
            Marker::Html => Self {
                html: Some("<html><head><title>502 Bad Gateway</title></head><body>502</body></html>\n"),
                ..Self::new(502, "api_error", "")
            },
            Marker::Unavailable => Self::new(503, "api_error", "Service Unavailable"),
            Marker::Late => Self::new(504, "timeout_error", "Request timed out"),
            Marker::Overloaded => Self::overloaded(),
            Marker::Credit => Self::credit(),
            _ => Self::new(500, "api_error", "Internal server error"),
        }
    }

    /// The body, also inside a stream.
    pub(super) fn body(&self, request_id: &str) -> Value {
        json!({
            "type": "error",
            "error": { "type": self.kind, "message": self.message, "details": null },
            "request_id": request_id,
        })
    }

    /// As it goes out.
    pub(super) fn refused(
        self,
        request_id: &str,
        retry_after_s: u64,
        mut headers: Vec<(&'static str, String)>,
    ) -> ErrorReply {
        if self.retry_after {
            headers.push(("retry-after", retry_after_s.to_string()));
        }
        if self.status < 429 {
            headers.push(("x-should-retry", "false".to_owned()));
        }
        let (mime, body) = match self.html {
            Some(page) => ("text/html", page.to_owned()),
            None => ("application/json", self.body(request_id).to_string()),
        };
        let status = StatusCode::from_u16(self.status).expect("constructors give statuses of three digits");
        ErrorReply { status, mime, body, headers }
    }
}
