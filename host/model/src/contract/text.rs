//! The host's types for the text halves of the contract (`wit/v1/text`, `wit/v1/dialect`).

use std::sync::Arc;

use gatehouse_contract::{Framing, is_kebab_case};

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
    pub rules: Arc<str>,
}

/// What a text provider speaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Protocol {
    /// `POST /v1/messages` and its events.
    Messages,
    /// `POST /v1/chat/completions` and its chunks.
    Chat,
    /// A dialect of that name, which a family of its own translates.
    Dialect(Arc<str>),
}

impl Protocol {
    /// Its name in the contract and the configuration.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Dialect(name) => name,
        }
    }

    /// The name of the dialect, if it is one.
    #[must_use]
    pub fn dialect(&self) -> Option<&str> {
        match self {
            Self::Dialect(name) => Some(name),
            Self::Messages | Self::Chat => None,
        }
    }
}

impl TryFrom<String> for Protocol {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "messages" => Ok(Self::Messages),
            "chat" => Ok(Self::Chat),
            _ if is_kebab_case(&name) => Ok(Self::Dialect(name.into())),
            _ => Err(format!(
                "expected `messages`, `chat`, or the kebab-case name of a dialect that a family speaks, got {name:?}"
            )),
        }
    }
}

impl From<Protocol> for String {
    fn from(protocol: Protocol) -> Self {
        protocol.as_str().to_owned()
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
    /// The provider that serves it.
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
    /// The sum of both.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cached: self.cached.saturating_add(more.cached),
            cache_write: self.cache_write.saturating_add(more.cache_write),
            cache_write_hour: self.cache_write_hour.saturating_add(more.cache_write_hour),
        }
    }

    /// All that was read, from a cache or not.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.input.saturating_add(self.cached).saturating_add(self.cache_write)
    }

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
    /// How long the provider asks to be left alone, where its body says so.
    pub retry_after_ms: Option<u32>,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The client's body, JSON.
    pub body: Json,
    /// Tokens, when the provider reported them.
    pub usage: Option<Usage>,
    /// Counters by other names. Those whose name begins as that of a token are in `usage`, too.
    pub counters: Vec<(String, u64)>,
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
    /// Counters by other names, beside a `usage`. Those whose name begins as that of a token are in `usage`, too.
    #[serde(default)]
    pub counters: Vec<(String, u64)>,
    /// Bytes of text the model wrote in these events.
    pub output_bytes: u32,
    /// The client has its terminal event.
    pub last: bool,
}

impl Chunk {
    /// These events, of which nothing is counted.
    #[must_use]
    pub fn of(send: Vec<Sse>) -> Self {
        Self { send, usage: None, counters: Vec::new(), output_bytes: 0, last: false }
    }
}

/// A text request as a dialect translates it.
#[derive(Clone, Debug)]
pub struct DialectRequest {
    /// A Messages request, JSON.
    pub body: Json,
    /// Whether the answer is to be a stream.
    pub streaming: bool,
    /// Facts about the blobs in `body`.
    pub blobs: Vec<Facts>,
    /// The provider that serves it.
    pub route: TextRoute,
}

/// A dialect's call for a text request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectPrepared {
    /// The upstream request.
    pub call: Call,
    /// How its provider frames a stream.
    pub framing: Framing,
    /// For the answer.
    pub state: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a misspelt protocol is found out by a client.
    #[test]
    fn a_protocol_is_a_word_that_a_family_may_speak() {
        let read = |name: &str| Protocol::try_from(name.to_owned());
        assert_eq!(read("messages"), Ok(Protocol::Messages));
        assert_eq!(read("chat"), Ok(Protocol::Chat));
        assert_eq!(read("generatecontent").as_ref().map(Protocol::dialect), Ok(Some("generatecontent")));
        for wrong in ["", "Chat", "my dialect", "a_b", "-a"] {
            let why = read(wrong).expect_err("refused");
            assert!(why.contains("kebab-case") && why.ends_with(&format!("{wrong:?}")), "{why}");
        }
    }
}
