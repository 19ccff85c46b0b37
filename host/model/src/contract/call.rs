//! The host's types for `wit/v1/upstream`: the calls of a plugin to a provider, and the replies.
//!
//! Calls and replies are journalled, so they are serialisable. Their bodies are shared: a clone copies no bytes.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::words;

/// One header of a call or a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Lower-case in replies.
    pub name: String,
    /// As sent.
    pub value: String,
}

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// Below the provider's base URL; begins with a slash.
    Path(String),
    /// A full URL inside the provider's allowed origins.
    Url(String),
}

/// Bytes in hand, or kept as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// The bytes.
    Inline(Bytes),
    /// `blob:<id>`.
    Blob(String),
}

/// One part of a multipart form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    /// No body.
    None,
    /// JSON; strings that are exactly `blob:<id>`, `blob:<id>:base64` or `blob:<id>:text` are spliced when it is sent.
    Json(Bytes),
    /// multipart/form-data.
    Form(Vec<Part>),
    /// These bytes under this content type.
    Raw {
        /// The content type.
        mime: String,
        /// The bytes; nothing in them is replaced.
        data: Body,
    },
}

/// Whether the same bytes may be sent again when it is unknown whether they arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replay {
    /// Harmless to repeat; not journalled.
    Safe,
    /// The provider recognises a repetition.
    Token,
    /// Never twice.
    Once,
}

/// An upstream request a plugin asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The provider's name in the configuration.
    pub provider: String,
    /// GET, POST, ...
    pub method: String,
    /// Where to.
    pub target: Target,
    /// Extra headers; credentials are not among them.
    pub headers: Vec<Header>,
    /// What it carries.
    pub body: Payload,
    /// Time for the whole exchange.
    pub timeout_ms: u32,
    /// Repetition policy.
    pub replay: Replay,
    /// The account that must make it: an [`Affinity`] of an earlier reply.
    #[serde(default)]
    pub affinity: Option<Affinity>,
    /// How the reply's body is handed over.
    #[serde(alias = "save_body", default)]
    pub reading: Reading,
    /// Whether the host adds the account's credentials. Presigned addresses go without.
    #[serde(default = "with_credentials")]
    pub credentials: bool,
    /// It may become one call with others of the same key and account.
    #[serde(default)]
    pub shared: Option<Shared>,
}

const fn with_credentials() -> bool {
    true
}

/// A provider account, opaque to plugins: a digest of its names, so that an account's name reaches no client.
pub type Affinity = String;

/// How the body of a reply is handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredReading")]
pub enum Reading {
    /// As it is.
    #[default]
    Whole,
    /// Kept as a blob.
    Saved,
    /// With its long base64 strings cut out as blobs; the body is JSON.
    Cut,
}

/// `save_body` of earlier stores was a truth value.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredReading {
    SaveBody(bool),
    Named(NamedReading),
}

#[derive(Deserialize)]
enum NamedReading {
    Whole,
    Saved,
    Cut,
}

impl From<StoredReading> for Reading {
    fn from(stored: StoredReading) -> Self {
        match stored {
            StoredReading::SaveBody(false) | StoredReading::Named(NamedReading::Whole) => Self::Whole,
            StoredReading::SaveBody(true) | StoredReading::Named(NamedReading::Saved) => Self::Saved,
            StoredReading::Named(NamedReading::Cut) => Self::Cut,
        }
    }
}

/// A call that may be merged with others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Calls of one key and one account may be merged.
    pub key: String,
    /// What this call asks about.
    pub item: String,
}

/// What a provider answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// What is left after credentials, cookies and hop-by-hop headers are taken out.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Body,
    /// The account that answered; empty in stores of earlier versions.
    #[serde(default)]
    pub affinity: Affinity,
}

impl Reply {
    /// The first header of that lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.name == name).map(|header| header.value.as_str())
    }
}

words! {
    /// Why no reply came.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Outage {
        /// Nothing was sent.
        Unreachable = "unreachable",
        /// Sent, no answer in time.
        Timeout = "timeout",
        /// Sent, the connection broke.
        Broken = "broken",
        /// The answer was too large.
        TooLarge = "too_large",
        /// The host refused to make the call.
        Refused = "refused",
    }
}
