//! Text requests, prepared calls, answers and streams.

use serde_json::Value;

pub use crate::bindings::exports::gatehouse::family::text::{Answered, Chunk, Usage};
pub use crate::bindings::gatehouse::family::upstream::{Obstacle, Sse, TextFailure};

use super::call::Call;
use super::json;
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
    /// The model's `rules`; an empty object when there are none.
    pub rules: Value,
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
impl Default for Usage {
    fn default() -> Self {
        Self { input: 0, output: 0, cached: 0, cache_write: 0, cache_write_hour: 0 }
    }
}

#[expect(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Sse {
    fn default() -> Self {
        Self { event: None, data: String::new() }
    }
}

#[expect(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Chunk {
    fn default() -> Self {
        Self { send: Vec::new(), usage: None, output_bytes: 0, last: false }
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
            },
        }
    }
}

impl From<Prepared<Vec<u8>>> for text::Prepared {
    fn from(prepared: Prepared<Vec<u8>>) -> Self {
        Self {
            call: prepared.call,
            streaming: prepared.streaming,
            input_bytes: prepared.input_bytes,
            pictures: prepared.pictures,
            max_output_tokens: prepared.max_output_tokens,
            state: prepared.state,
        }
    }
}
