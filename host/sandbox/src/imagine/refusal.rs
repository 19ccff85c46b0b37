//! The provider's HTTP errors: one constructor an error, one place that writes their bodies.
//!
//! Most are flat, `{"code", "error"}`; the framework's own are plain text, and a proxy in front speaks HTML.

use http::Response;
use serde_json::{Value, json};

use super::faults::Marker;
use super::reference::UNREACHABLE;
use crate::common::server::{self, Body};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Why a call is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Also for the record.
    pub(super) status: u16,
    mime: &'static str,
    body: String,
    /// Refused after the images were made: they are billed.
    pub(super) is_billed: bool,
}

impl Refusal {
    fn new(status: u16, mime: &'static str, body: impl Into<String>) -> Self {
        Self { status, mime, body: body.into(), is_billed: false }
    }

    fn flat(status: u16, code: &str, error: &str) -> Self {
        Self::new(status, JSON, json!({ "code": code, "error": error }).to_string())
    }

    /// A wrong value of the right type.
    pub(super) fn argument(error: &str) -> Self {
        Self::flat(400, "invalid-argument", error)
    }

    /// No `Authorization` header, or one that is no bearer token.
    pub(super) fn unauthenticated() -> Self {
        let text = "No API key provided. Specify your API key in an Authorization header using Bearer auth.";
        Self::flat(401, "unauthenticated", text)
    }

    /// The real provider answers 400, not 401.
    pub(super) fn wrong_key() -> Self {
        let text = "Incorrect API key provided. You can obtain an API key from https://console.x.ai.";
        Self::flat(400, "invalid-argument", text)
    }

    pub(super) fn blocked_key() -> Self {
        let text = "The API key is blocked or has no permission for this endpoint, ask your team's admin.";
        Self::flat(403, "permission-denied", text)
    }

    /// 403 or 429, told from others by the text alone.
    pub(super) fn no_credits(status: u16) -> Self {
        let code = if status == 429 { "resource-exhausted" } else { "permission-denied" };
        let text = "Your team has either used all available credits or reached its monthly spending limit.";
        Self::flat(status, code, text)
    }

    pub(super) fn rate_limited() -> Self {
        Self::flat(429, "resource-exhausted", "Too many requests: the rate limit is reached, slow down.")
    }

    pub(super) fn no_model(name: &str) -> Self {
        let text = format!("The model '{name}' does not exist or your team has no access to it.");
        Self::new(404, JSON, json!({ "error": text }).to_string())
    }

    pub(super) fn unknown_path() -> Self {
        Self::new(404, TEXT, "not found")
    }

    pub(super) fn method() -> Self {
        Self::new(405, TEXT, "")
    }

    pub(super) fn too_large() -> Self {
        Self::new(413, TEXT, "Failed to buffer the request body: length limit exceeded")
    }

    /// Multipart, for instance.
    pub(super) fn content_type() -> Self {
        Self::new(415, TEXT, "Expected request with `Content-Type: application/json`")
    }

    /// A body that is no JSON.
    pub(super) fn syntax(error: &str) -> Self {
        Self::new(400, TEXT, format!("Failed to parse the request body as JSON: {error}"))
    }

    /// JSON of another shape.
    pub(super) fn shape(error: &str) -> Self {
        let text = format!("Failed to deserialize the JSON body into the target type: {error}");
        Self::new(422, TEXT, text)
    }

    pub(super) fn broken() -> Self {
        Self::flat(500, "internal", "Internal server error")
    }

    /// The refusal that a marker asks for, the same as with a real cause.
    pub(super) fn of(marker: Marker) -> Self {
        let rejected = "Generated image rejected by content moderation.";
        match marker {
            Marker::WrongKey => Self::wrong_key(),
            Marker::Unauthenticated => Self::unauthenticated(),
            Marker::BlockedKey => Self::blocked_key(),
            Marker::Credits => Self::no_credits(403),
            Marker::CreditsRate => Self::no_credits(429),
            Marker::Rate => Self::rate_limited(),
            Marker::NoModel => Self::no_model("grok-imagine-image"),
            Marker::Shape => Self::shape("n: invalid type: string \"1\", expected i32 at line 1 column 9"),
            Marker::Unavailable => Self::flat(503, "unavailable", "The service is currently unavailable"),
            Marker::BadGateway => {
                Self::new(502, "text/html", "<html><body><h1>502 Bad Gateway</h1>x.ai</body></html>\n")
            }
            Marker::Moderated => Self::moderated("imagine:content-moderated", rejected),
            Marker::ModeratedOld => Self::moderated("Client specified an invalid argument", rejected),
            Marker::Guidelines => Self::flat(
                403,
                "permission-denied",
                "Content violates usage guidelines. Team: 0, API key ID: 0",
            ),
            Marker::LongPrompt => Self::argument("Prompt length is larger than the maximum allowed length."),
            Marker::Nested => Self::nested("Invalid request content: this style of prompt is not supported."),
            Marker::NoFetch => Self::argument(UNREACHABLE),
            _ => Self::broken(),
        }
    }

    /// After the images were made.
    fn moderated(code: &str, error: &str) -> Self {
        let usage = json!({ "cost_in_usd_ticks": 200_000_000 });
        let body = json!({ "code": code, "error": error, "usage": usage }).to_string();
        Self { is_billed: true, ..Self::new(400, JSON, body) }
    }

    /// The form of OpenAI's errors, which some answers have.
    fn nested(message: &str) -> Self {
        let error: Value =
            json!({ "message": message, "type": "invalid_request_error", "code": "invalid-argument" });
        Self::new(400, JSON, json!({ "error": error }).to_string())
    }

    pub(super) fn response(self) -> Response<Body> {
        let response = server::reply(self.status, self.mime, self.body);
        if self.status == 405 { server::with(response, "allow", "POST") } else { response }
    }
}
