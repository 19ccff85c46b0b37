//! A request the host may make for a family: where to, with what, and whether it may be repeated.
//! Credentials, host names of providers and retries of lost connections are the host's business.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// How long a whole exchange may take when the family does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a call goes.
///
/// A text that begins with a slash is a path, anything else a full URL:
///
/// ```
/// use gatehouse_sdk::Target;
///
/// assert_eq!(Target::from("/v1/jobs"), Target::Path("/v1/jobs".into()));
/// assert_eq!(Target::from("https://eu.example.com/j/1"), Target::Url("https://eu.example.com/j/1".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Below the provider's base URL; begins with a slash.
    Path(String),
    /// A full URL inside the provider's allowed origins.
    Url(String),
}

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

/// Bytes in hand, or kept by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The bytes.
    Inline(Vec<u8>),
    /// `blob:<id>`.
    Blob(String),
}

/// One part of a multipart form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Field name.
    pub name: String,
    /// File name, if it is a file.
    pub filename: Option<String>,
    /// Content type.
    pub mime: Option<String>,
    /// Content.
    pub data: Body,
}

/// What a call carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// No body.
    None,
    /// JSON. A string that is exactly `blob:<id>` is written as a `data:` URI, and `blob:<id>:base64`
    /// as bare base64, when it is sent.
    Json(Value),
    /// The same, already written: it keeps its bytes, but for blobs.
    Written(String),
    /// multipart/form-data.
    Form(Vec<Part>),
}

/// May the host send the same bytes again when it cannot know whether they arrived?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Reading only, or harmless to repeat.
    Safe,
    /// The body carries a token by which the provider recognises a repetition.
    Token,
    /// Never twice: a lost answer ends the task with a refund.
    Once,
}

/// An upstream request. `get` is safe to repeat and `post` is not, unless said otherwise.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// A provider's name; the host picks the account, the base URL and the credentials.
    pub provider: String,
    /// GET, POST, ...
    pub method: String,
    /// Where to.
    pub target: Target,
    /// Extra headers, name and value. Credentials and connection headers are refused by the host.
    pub headers: Vec<(String, String)>,
    /// What it carries.
    pub body: Payload,
    /// Time for the whole exchange.
    pub timeout: Duration,
    /// Repetition policy.
    pub replay: Replay,
    /// Keep the reply's body as a blob and hand over only its id.
    pub save_body: bool,
}

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
            timeout: DEFAULT_TIMEOUT,
            replay: Replay::Once,
            save_body: false,
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

    /// Carries JSON.
    ///
    /// # Panics
    /// When `body` is no JSON at all (a map with keys that are not strings): a bug of the family.
    #[must_use]
    pub fn json(mut self, body: &impl Serialize) -> Self {
        self.body = Payload::Json(serde_json::to_value(body).expect("a body of a call is JSON"));
        self
    }

    /// Carries JSON that is already written.
    #[must_use]
    pub fn written(mut self, body: String) -> Self {
        self.body = Payload::Written(body);
        self
    }

    /// Carries a multipart form.
    #[must_use]
    pub fn form(mut self, parts: Vec<Part>) -> Self {
        self.body = Payload::Form(parts);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Limits the whole exchange.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
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
        self.save_body = true;
        self
    }
}
