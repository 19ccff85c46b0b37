//! Text requests, prepared calls, answers and streams.

use serde::Serialize;
use serde_json::Value;

pub use crate::bindings::gatehouse::family::upstream::{Obstacle, Sse, TextFailure};

use super::call::Call;
use super::json::{self, Extra};
use super::media::Facts;
use crate::bindings::exports::gatehouse::family::text;

/// The protocol of a text provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `POST /v1/messages` and its events.
    Messages,
    /// `POST /v1/chat/completions` and its chunks.
    Chat,
}

/// The provider of the model for this request, and the operator's rules for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The public id, which clients send and read.
    pub model: String,
    /// The provider's name of the model.
    pub upstream: String,
    /// A provider's name, for [`Call`].
    pub provider: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// The model's `rules`; an empty object where the operator wrote nothing.
    pub rules: Value,
    /// What a later host says besides.
    pub extra: Extra,
}

/// A text request.
#[derive(Clone, Debug, PartialEq)]
pub struct TextRequest {
    /// "messages.create", "chat.completions", "responses.create" or "embeddings.create".
    pub surface: String,
    /// JSON as the client wrote it, byte for byte but for blobs. Its `model` may be an alias of the route's.
    pub body: String,
    /// `anthropic-version` and `anthropic-beta`, lower-case, if the client sent them.
    pub headers: Vec<(String, String)>,
    /// Facts about the blobs cut out of `body`, in order of appearance.
    pub blobs: Vec<Facts>,
    /// The provider.
    pub route: Route,
    /// What a later host says besides.
    pub extra: Extra,
}

impl TextRequest {
    /// The client's header of that lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A prepared call.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared<S> {
    /// The upstream request.
    pub call: Call,
    /// Whether the client reads a stream; the provider must then send one.
    pub streaming: bool,
    /// Bytes of text the model will read; the host estimates the input from it.
    pub input_bytes: u32,
    /// Pictures the model will read.
    pub pictures: u32,
    /// The most tokens the model may write.
    pub max_output_tokens: u32,
    /// For the answer.
    pub state: S,
    /// What a later host is told besides.
    pub extra: Extra,
}

/// Tokens as the provider counted them; no token is in two of these, but for those of `cache_write_hour`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Usage {
    /// Read, neither from a cache nor into one.
    pub input: u64,
    /// Written, thinking included.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
    /// Of `cache_write`: what the cache keeps for an hour instead of minutes, which costs more.
    pub cache_write_hour: u64,
}

impl From<Usage> for text::Usage {
    fn from(usage: Usage) -> Self {
        let counters = [
            ("input", usage.input),
            ("output", usage.output),
            ("cached", usage.cached),
            ("cache-write", usage.cache_write.saturating_sub(usage.cache_write_hour)),
            ("cache-write-1h", usage.cache_write_hour),
        ];
        counters
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.to_owned(), count))
            .collect()
    }
}

/// A counter that [`Usage`] has no field for: its name in kebab-case (`input-audio`, `searches`) and a number. What is in it is in no
/// field of `Usage` and in no other counter. An operator may give it a price of its own.
pub type Counter = (String, u64);

fn counted(usage: Usage, more: Vec<Counter>) -> text::Usage {
    let mut counters = text::Usage::from(usage);
    counters.extend(more);
    counters
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// The client's body, unwrapped.
    pub body: String,
    /// None when the provider reported none: the host then estimates.
    pub usage: Option<Usage>,
    /// What else the provider counted, beside a `usage`: see [`Counter`].
    pub counters: Vec<Counter>,
    /// Bytes of text the model wrote.
    pub output_bytes: u32,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl From<Answered> for text::Answered {
    fn from(answered: Answered) -> Self {
        Self {
            body: answered.body,
            usage: answered.usage.map(|usage| counted(usage, answered.counters)),
            output_bytes: answered.output_bytes,
            extra: json::extra(answered.extra),
        }
    }
}

/// What a stream goes on with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// Events for the client.
    pub send: Vec<Sse>,
    /// All tokens so far, as soon and as often as they are known; the latest counts.
    pub usage: Option<Usage>,
    /// What else the provider counted so far, beside a `usage`: see [`Counter`].
    pub counters: Vec<Counter>,
    /// Bytes of text the model wrote in these events.
    pub output_bytes: u32,
    /// The client has its terminal event; nothing follows.
    pub last: bool,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl From<Chunk> for text::Chunk {
    fn from(chunk: Chunk) -> Self {
        Self {
            send: chunk.send,
            usage: chunk.usage.map(|usage| counted(usage, chunk.counters)),
            output_bytes: chunk.output_bytes,
            last: chunk.last,
            extra: json::extra(chunk.extra),
        }
    }
}

impl TextFailure {
    /// A failure.
    #[must_use]
    pub fn new(obstacle: Obstacle, message: impl Into<String>) -> Self {
        Self { obstacle, message: message.into(), field: None, retry_after_ms: None }
    }

    /// A failure of the provider.
    #[must_use]
    pub fn upstream(message: impl Into<String>) -> Self {
        Self::new(Obstacle::Upstream, message)
    }
}

#[expect(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Sse {
    fn default() -> Self {
        Self { event: None, data: String::new() }
    }
}

impl From<text::TextRequest> for TextRequest {
    fn from(request: text::TextRequest) -> Self {
        Self {
            surface: request.surface,
            body: request.body,
            headers: request.headers.into_iter().map(|header| (header.name, header.value)).collect(),
            blobs: request.blobs,
            route: Route {
                model: request.route.model,
                upstream: request.route.upstream,
                provider: request.route.provider,
                protocol: if request.route.protocol == "chat" { Protocol::Chat } else { Protocol::Messages },
                rules: json::of_host(&request.route.rules),
                extra: json::extra_of_host(&request.route.extra),
            },
            extra: json::extra_of_host(&request.extra),
        }
    }
}

impl From<Prepared<Vec<u8>>> for text::Prepared {
    fn from(prepared: Prepared<Vec<u8>>) -> Self {
        let Prepared { call, streaming, input_bytes, pictures, max_output_tokens, state, extra } = prepared;
        let extra = json::extra(extra);
        Self { call, streaming, input_bytes, pictures, max_output_tokens, state, extra }
    }
}
