//! The host's types for the text half of the contract (`wit/v1/text`).

use crate::contract::call::{Call, Header};
use crate::contract::facts::Facts;
use crate::contract::json::Json;

/// The provider that serves a text request, with the operator's settings of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRoute {
    /// The public id.
    pub model: String,
    /// What the provider calls it.
    pub upstream: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// What the provider speaks.
    pub protocol: Protocol,
    /// The model's `rules`, JSON.
    pub rules: std::sync::Arc<str>,
}

/// What a text provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `POST /v1/messages` and its events.
    Messages,
    /// `POST /v1/chat/completions` and its chunks.
    Chat,
}

impl Protocol {
    /// Its name in the contract and the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
        }
    }
}

/// A text request as a plugin judges it.
#[derive(Clone, Debug)]
pub struct TextRequest {
    /// "messages.create", "chat.completions", "responses.create" or "embeddings.create".
    pub surface: String,
    /// JSON as the client wrote it, long media cut out.
    pub body: Json,
    /// The client's headers a family may see.
    pub headers: Vec<Header>,
    /// Facts about the blobs cut out of `body`.
    pub blobs: Vec<Facts>,
    /// Who serves it.
    pub route: TextRoute,
}

/// A plugin's yes to a text request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The upstream request.
    pub call: Call,
    /// Whether the answer is a stream.
    pub streaming: bool,
    /// Bytes of text the model will read.
    pub input_bytes: u32,
    /// Pictures it will read.
    pub pictures: u32,
    /// Tokens it may write at most.
    pub max_output_tokens: u32,
    /// For the answer.
    pub state: Vec<u8>,
}

/// Tokens; none is in two of these, but for those of `cache_write_hour`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// Read, neither from a cache nor into one.
    pub input: u64,
    /// Written, thinking included.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
    /// Of `cache_write`: what the cache keeps for an hour.
    #[serde(default)]
    pub cache_write_hour: u64,
}

impl Usage {
    /// Each kind of token by the name metrics use.
    #[must_use]
    pub fn kinds(&self) -> [(&'static str, u64); 4] {
        [
            ("input", self.input),
            ("output", self.output),
            ("cached", self.cached),
            ("cache_write", self.cache_write),
        ]
    }
}

/// Why a text request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Obstacle {
    /// The request itself, in the provider's judgement.
    Invalid,
    /// What it names does not exist at the provider.
    NotFound,
    /// It is too large for the provider.
    TooLarge,
    /// The conversation is longer than the model reads.
    TooLong,
    /// The provider takes no more requests for now.
    RateLimited,
    /// The operator's account there.
    Account,
    /// The provider.
    Upstream,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TextFailure {
    /// The kind of failure.
    pub obstacle: Obstacle,
    /// For the client.
    pub message: String,
    /// The path of the client's field that is wrong, where it is known.
    pub field: Option<String>,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The client's body, JSON.
    pub body: Json,
    /// Tokens, when the provider reported them.
    pub usage: Option<Usage>,
    /// Bytes of text the model wrote.
    pub output_bytes: u32,
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sse {
    /// Its `event:` line.
    pub event: Option<String>,
    /// Its `data:` lines, joined by line feeds.
    pub data: String,
}

/// What a stream goes on with.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Chunk {
    /// Events for the client.
    pub send: Vec<Sse>,
    /// All tokens so far, when they are known.
    pub usage: Option<Usage>,
    /// Bytes of text the model wrote in these events.
    pub output_bytes: u32,
    /// The client has its terminal event.
    pub last: bool,
}
