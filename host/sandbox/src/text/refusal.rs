//! An error reply of a text provider, as facts. Each protocol has its own table of errors and writes their bodies.

use http::StatusCode;
use serde_json::Value;

use crate::text::delivery::reply::WholeReply;
use crate::text::markers::Marker;
use crate::text::provider::KeyFailure;

/// The page of a proxy in front of the provider.
const PROXY_PAGE: &str = "<html><head><title>502 Bad Gateway</title></head><body>502</body></html>\n";

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// The parameter at fault, where the protocol names it.
    pub(crate) param: Option<String>,
    /// The error's code, where the protocol has one.
    pub(crate) code: Option<&'static str>,
    /// The reply carries `Retry-After`.
    pub(crate) retries: bool,
    /// The body is a proxy's page.
    pub(crate) html: bool,
    /// Sent only once the sandbox releases held answers.
    pub(crate) is_held: bool,
}

impl Refusal {
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, kind, message, param: None, code: None, retries: false, html: false, is_held: false }
    }

    pub(crate) fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(crate) fn retries(self, retries: bool) -> Self {
        Self { retries, ..self }
    }

    pub(crate) fn html(self) -> Self {
        Self { html: true, ..self }
    }

    pub(crate) fn held(self, is_held: bool) -> Self {
        Self { is_held, ..self }
    }

    /// The reply; `body` is the error in the protocol's words.
    pub(crate) fn into_reply(self, body: &Value, headers: Vec<(&'static str, String)>) -> WholeReply {
        let status = StatusCode::from_u16(self.status).expect("error tables give statuses of three digits");
        let (mime, body) = match self.html {
            true => ("text/html", PROXY_PAGE.to_owned()),
            false => ("application/json", body.to_string()),
        };
        WholeReply { status, mime, body, headers }
    }
}

/// The errors of a protocol that do not depend on a request's fields.
pub(crate) trait ErrorTable {
    /// `key` is the bearer key or the key of the protocol's own header.
    fn key_refused(key: &str, is_bearer: bool, failure: KeyFailure) -> Refusal;
    fn too_large() -> Refusal;
    fn not_declared_json() -> Refusal;
    fn not_json(error: &serde_json::Error) -> Refusal;
    /// The refusal a marker asks for. Markers that refuse nothing give an internal error.
    fn marked(marker: Marker, model: &str) -> Refusal;
    /// The error that breaks a stream.
    fn broken_stream() -> Refusal;
    /// The body of an error.
    fn error_body(refusal: &Refusal, request_id: &str) -> Value;
    /// Headers of errors alone.
    fn error_headers(refusal: &Refusal, retry_after_s: u64) -> Vec<(&'static str, String)>;
}
