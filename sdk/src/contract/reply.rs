//! A provider's answer, or the reason there is none.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::bindings::gatehouse::family::upstream::{Outage, Reply};

use super::call::{Body, Header};
use crate::lenient::without_halves;

/// Builders and readers.
///
/// ```
/// use gatehouse_sdk::Reply;
/// use serde_json::json;
///
/// let reply = Reply::new(200, &json!({"id": "j1"})).with_header("retry-after", "1");
/// assert!(reply.is_success());
/// assert_eq!(reply.header("retry-after"), Some("1"));
/// assert_eq!(reply.json::<serde_json::Value>().unwrap()["id"], "j1");
/// ```
impl Reply {
    /// A JSON answer, for tests.
    #[must_use]
    pub fn new(status: u16, body: &Value) -> Self {
        Self::raw(status, body.to_string()).with_header("content-type", "application/json")
    }

    /// An answer of any bytes without headers, for tests.
    #[must_use]
    pub fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Inline(body.into()),
            affinity: "account-1".to_owned(),
            extra: String::new(),
        }
    }

    /// The same answer with one header more.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(Header { name: name.to_ascii_lowercase(), value: value.to_owned() });
        self
    }

    /// The first header of that lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.name == name).map(|header| header.value.as_str())
    }

    /// 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text, as far as it is UTF-8; empty when the host kept it as a blob.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.body {
            // Nearly every body is UTF-8, which is told faster than what is not.
            Body::Inline(bytes) => {
                str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
            }
            Body::Blob(_) => Cow::Borrowed(""),
        }
    }

    /// The body as JSON of the shape `T`. Of a name that stands twice the last member counts. A byte order mark, and half of a
    /// character in a text, fail nothing.
    ///
    /// # Errors
    /// [`Unreadable`] when the body is no such JSON, or was kept as a blob.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        match &self.body {
            Body::Inline(bytes) => {
                let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
                // Half of a character somewhere is no reason to lose an answer that was paid.
                let mended = std::str::from_utf8(bytes).ok().and_then(without_halves);
                let bytes = mended.as_deref().map_or(bytes, str::as_bytes);
                let read = serde_json::from_slice(bytes).or_else(|error| match last_members(bytes, &error) {
                    Some(value) => serde_json::from_value(value),
                    None => Err(error),
                });
                read.map_err(|error| Unreadable(error.to_string()))
            }
            Body::Blob(_) => Err(Unreadable("the body was kept as a blob".to_owned())),
        }
    }
}

/// A body in which a name stands twice, with the last of its members, as other JSON readers have it; `serde`'s derived readers
/// refuse it.
fn last_members(body: &[u8], error: &serde_json::Error) -> Option<Value> {
    error.to_string().starts_with("duplicate field").then(|| serde_json::from_slice(body).ok()).flatten()
}

/// A reply whose body does not have the expected shape. Its text is for logs, not for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the reply does not read as expected: {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

impl Outage {
    /// The reason as a word, for logs.
    ///
    /// ```
    /// assert_eq!(gatehouse_sdk::Outage::TooLarge.as_str(), "too-large");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Broken => "broken",
            Self::TooLarge => "too-large",
            Self::Refused => "refused",
        }
    }
}
