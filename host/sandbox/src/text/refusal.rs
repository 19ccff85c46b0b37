//! An error reply of a text provider, as facts. Each protocol has its own table of errors and writes their bodies.

use serde_json::Value;

use crate::text::markers::Marker;

/// The page of a proxy in front of the provider.
pub(crate) const PROXY_PAGE: &str =
    "<html><head><title>502 Bad Gateway</title></head><body>502</body></html>\n";

/// Why a request is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        Self { status, kind, message: message.into(), ..Self::default() }
    }

    pub(crate) fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(crate) fn retries(self) -> Self {
        Self { retries: true, ..self }
    }
}

/// The errors of a protocol that do not depend on a request's fields.
pub(crate) trait ErrorTable {
    /// `key` is the bearer key or the key of the protocol's own header; none is there, or nobody has it.
    fn wrong_key(key: Option<&str>, is_bearer: bool) -> Refusal;
    fn not_declared_json() -> Refusal;
    fn not_json(error: &serde_json::Error) -> Refusal;
    /// The error a marker asks for, the same as with a real cause. Others give an internal error.
    fn marked(marker: Marker, model: Option<&str>) -> Refusal;
    /// The body of an error.
    fn error_body(refusal: &Refusal, request_id: &str) -> Value;
    /// Headers of errors alone.
    fn error_headers(refusal: &Refusal, retry_after_s: u64) -> Vec<(&'static str, String)>;
}
