//! An upstream request: target, content, and whether it may be repeated. Credentials, host names of providers
//! and retries of lost connections are the host's.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

pub use crate::bindings::gatehouse::family::upstream::{
    Affinity, Bytes as Body, Call, Header, Part, Payload, Raw, Reading, Replay, Shared, Target,
};

use super::json::short_millis;

/// The time limit of an exchange when the family sets none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A text that begins with a slash is a path, any other a full URL:
///
/// ```
/// use gatehouse_sdk::Target;
///
/// assert_eq!(Target::from("/v1/jobs"), Target::Path("/v1/jobs".into()));
/// assert_eq!(Target::from("https://eu.example.com/j/1"), Target::Url("https://eu.example.com/j/1".into()));
/// ```
impl From<&str> for Target {
    fn from(text: &str) -> Self {
        if text.starts_with('/') { Self::Path(text.to_owned()) } else { Self::Url(text.to_owned()) }
    }
}

impl From<String> for Target {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// Builders. `get` is safe to repeat and `post` is not, unless the family says otherwise.
///
/// ```
/// use std::time::Duration;
/// use gatehouse_sdk::{Call, Replay};
/// use serde_json::json;
///
/// let call = Call::post("painter", "/v1/pictures")
///     .json(&json!({"prompt": "a red kite"}))
///     .header("x-dialect", "2")
///     .timeout(Duration::from_secs(30));
/// assert_eq!(call.replay, Replay::Once);
/// assert_eq!(Call::get("painter", "/v1/pictures/7").replay, Replay::Safe);
/// ```
impl Call {
    /// A call of any method; never repeated unless [`Call::safe`] or [`Call::token`] says so.
    #[must_use]
    pub fn new(provider: impl Into<String>, method: &str, target: impl Into<Target>) -> Self {
        Self {
            provider: provider.into(),
            method: method.to_owned(),
            target: target.into(),
            headers: Vec::new(),
            body: Payload::None,
            timeout_ms: short_millis(DEFAULT_TIMEOUT),
            replay: Replay::Once,
            affinity: None,
            reading: Reading::Whole,
            credentials: true,
            shared: None,
            extra: String::new(),
        }
    }

    /// A GET, safe to repeat.
    #[must_use]
    pub fn get(provider: impl Into<String>, target: impl Into<Target>) -> Self {
        Self::new(provider, "GET", target).safe()
    }

    /// A POST, never repeated.
    #[must_use]
    pub fn post(provider: impl Into<String>, target: impl Into<Target>) -> Self {
        Self::new(provider, "POST", target)
    }

    /// Sets a JSON body. A string `blob:<id>` in it is sent as a `data:` URI, `blob:<id>:base64` as base64,
    /// `blob:<id>:text` as the text it is.
    ///
    /// # Panics
    /// When `body` is not JSON (a map with keys that are not strings): a bug of the family.
    #[must_use]
    pub fn json(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_value(body).expect("the body of a call is JSON");
        self.written(body.to_string())
    }

    /// Sets a JSON body that is already written; it keeps its bytes, but for blobs.
    #[must_use]
    pub fn written(mut self, body: String) -> Self {
        self.body = Payload::Json(body);
        self
    }

    /// Sets a body of any content type; nothing in it is replaced.
    #[must_use]
    pub fn raw(mut self, mime: impl Into<String>, data: Body) -> Self {
        self.body = Payload::Raw(Raw { mime: mime.into(), data });
        self
    }

    /// Sets a multipart form.
    #[must_use]
    pub fn form(mut self, parts: Vec<Part>) -> Self {
        self.body = Payload::Form(parts);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.into(), value: value.into() });
        self
    }

    /// Limits the time of the whole exchange.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = short_millis(timeout);
        self
    }

    /// Never sent twice.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.replay = Replay::Once;
        self
    }

    /// Harmless to repeat.
    #[must_use]
    pub fn safe(mut self) -> Self {
        self.replay = Replay::Safe;
        self
    }

    /// The body carries a token by which the provider recognises a repetition.
    #[must_use]
    pub fn token(mut self) -> Self {
        self.replay = Replay::Token;
        self
    }

    /// Keep the reply's body as a blob.
    #[must_use]
    pub fn save_body(mut self) -> Self {
        self.reading = Reading::Saved;
        self
    }

    /// Cut long base64 strings out of the reply's JSON; `blob:<id>` stands in their place.
    #[must_use]
    pub fn cut_body(mut self) -> Self {
        self.reading = Reading::Cut;
        self
    }

    /// Made by this account: one that answered earlier, made a parent, or holds a name.
    #[must_use]
    pub fn affinity(mut self, account: Option<Affinity>) -> Self {
        self.affinity = account;
        self
    }

    /// Without the account's credentials: for presigned addresses.
    #[must_use]
    pub fn without_credentials(mut self) -> Self {
        self.credentials = false;
        self
    }

    /// May become one call with others of that key (see [`Bulk`](crate::Bulk)); `item` says what this one is about.
    #[must_use]
    pub fn shared(mut self, key: impl Into<String>, item: impl Into<String>) -> Self {
        self.shared = Some(Shared { key: key.into(), item: item.into() });
        self
    }

    /// The JSON body, for tests; `null` when the call carries none.
    #[must_use]
    pub fn json_body(&self) -> Value {
        match &self.body {
            Payload::Json(body) => serde_json::from_str(body).unwrap_or_default(),
            Payload::None | Payload::Form(_) | Payload::Raw(_) => Value::Null,
        }
    }

    /// The first header of that name, for tests.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.name == name).map(|header| header.value.as_str())
    }
}
