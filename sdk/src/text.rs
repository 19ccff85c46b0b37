//! Text: one upstream call, answered whole or as a stream of server-sent events. The host owns framing,
//! back-pressure, routing and the money; a family translates.
//!
//! Bodies are text, not values: what a family passes on (a signed thinking block) keeps its bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Call, Context, Facts, Refusal, Reply};

/// A family of text models. One that offers none names `()` in [`Family::Text`](crate::Family::Text).
///
/// ```
/// use gatehouse_sdk::{
///     Answered, Call, Chunk, Context, TextRequest, Prepared, Refusal, TextFailure, Relay, Reply, Sse, Text,
/// };
///
/// struct Plain;
///
/// impl Text for Plain {
///     type State = ();
///     type Relay = Through;
///
///     fn prepare(_: &Context, request: TextRequest) -> Result<Prepared<()>, Refusal> {
///         let call = Call::post(request.route.provider, "/v1/complete").written(request.body);
///         Ok(Prepared { call, streaming: false, read: 0, pictures: 0, most: 100, state: () })
///     }
///
///     fn answer(_: &Context, (): (), reply: Reply) -> Result<Answered, TextFailure> {
///         if !reply.is_success() {
///             return Err(TextFailure::upstream("the provider did not answer"));
///         }
///         Ok(Answered { body: reply.text().into_owned(), usage: None, written: 0 })
///     }
///
///     fn relay(_: &Context, (): ()) -> Through {
///         Through
///     }
/// }
///
/// struct Through;
///
/// impl Relay for Through {
///     fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
///         Ok(Chunk { send: events, ..Chunk::default() })
///     }
///
///     fn end(&mut self) -> Result<Chunk, TextFailure> {
///         Ok(Chunk { last: true, ..Chunk::default() })
///     }
/// }
/// ```
pub trait Text: 'static {
    /// What `open` leaves for the answer, kept as JSON.
    type State: Serialize + DeserializeOwned;
    /// A stream under way.
    type Relay: Relay;

    /// Whether this half of the contract is real; only `()` says no.
    const OFFERED: bool = true;

    /// Judges a request and translates it, once; the call may be made through one account after another.
    ///
    /// # Errors
    /// A [`Refusal`] becomes an HTTP error at once, and nothing is charged.
    fn prepare(cx: &Context, request: TextRequest) -> Result<Prepared<Self::State>, Refusal>;

    /// Translates a whole answer. Also handed every answer outside 200 to 299, of a stream too.
    ///
    /// # Errors
    /// A [`TextFailure`] becomes an HTTP error, unless another account answers; the hold is released.
    fn answer(cx: &Context, state: Self::State, reply: Reply) -> Result<Answered, TextFailure>;

    /// Begins a stream.
    fn relay(cx: &Context, state: Self::State) -> Self::Relay;
}

/// One stream: the provider's events in, the client's out. It lives in an instance of its own, so it may
/// simply remember.
pub trait Relay: 'static {
    /// The provider's next events, one or more. A provider that was asked for a stream and answered well with
    /// one body is handed over as one event without a name, the body as its data, once [`Text::answer`] has
    /// read it.
    ///
    /// # Errors
    /// A [`TextFailure`] ends the stream; the host writes the error event.
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure>;

    /// The provider has closed the stream. Without [`Chunk::last`] the host takes it for cut.
    ///
    /// # Errors
    /// As [`Relay::push`].
    fn end(&mut self) -> Result<Chunk, TextFailure>;
}

/// What a text provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `POST /v1/messages` and its events.
    Messages,
    /// `POST /v1/chat/completions` and its chunks.
    Chat,
}

/// Who serves the model this time, and what the operator's table says of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The public id: what clients ask for and read back.
    pub model: String,
    /// What the provider calls it.
    pub upstream: String,
    /// A provider's name, for [`Call`].
    pub provider: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// The model's `rules`; an empty object when there are none.
    pub rules: Value,
}

/// A text request.
#[derive(Clone, Debug, PartialEq)]
pub struct TextRequest {
    /// "messages.create" or "chat.completions".
    pub surface: String,
    /// JSON as the client wrote it, byte for byte but for blobs. Its `model` may be an alias of the route's.
    pub body: String,
    /// `anthropic-version` and `anthropic-beta`, lower-case, if the client sent them.
    pub headers: Vec<(String, String)>,
    /// Facts about the blobs cut out of `body`, in order of appearance.
    pub blobs: Vec<Facts>,
    /// Who serves it.
    pub route: Route,
}

impl TextRequest {
    /// The client's header of that lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A yes to a text request.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared<S> {
    /// The upstream request.
    pub call: Call,
    /// Whether the client is answered with a stream; the provider is then asked for one.
    pub streaming: bool,
    /// Bytes of text the model will read; the host estimates the input from it.
    pub input_bytes: u32,
    /// Pictures the model will read.
    pub pictures: u32,
    /// Tokens the model may write at most.
    pub max_output_tokens: u32,
    /// For the answer.
    pub state: S,
}

/// Tokens, as the provider counted them; none is in two of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read, neither from a cache nor into one.
    pub input: u64,
    /// Written, thinking included.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
}

/// What stands in the way of an answer: decides the status code, and whether another account is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// The request itself, in the provider's judgement.
    Invalid,
    /// What it names does not exist at the provider.
    NotFound,
    /// It is too large for the provider.
    TooLarge,
    /// The provider takes no more requests for now.
    RateLimited,
    /// The operator's account: credentials, permissions, credit. Never the client's fault.
    Account,
    /// The provider.
    Upstream,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFailure {
    /// What stands in the way.
    pub obstacle: Obstacle,
    /// For the client; the provider's own words where they are about the request.
    pub message: String,
}

impl TextFailure {
    /// Why there is no answer.
    #[must_use]
    pub fn new(obstacle: Obstacle, message: impl Into<String>) -> Self {
        Self { obstacle, message: message.into() }
    }

    /// The provider's trouble.
    #[must_use]
    pub fn upstream(message: impl Into<String>) -> Self {
        Self::new(Obstacle::Upstream, message)
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The client's body, JSON, unwrapped.
    pub body: String,
    /// `None` when the provider reported none: the host then estimates.
    pub usage: Option<Usage>,
    /// Bytes of text the model wrote.
    pub output_bytes: u32,
}

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sse {
    /// Its `event:` line.
    pub event: Option<String>,
    /// Its `data:` lines, joined by line feeds.
    pub data: String,
}

/// What a stream goes on with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Events for the client.
    pub send: Vec<Sse>,
    /// All tokens so far, as soon and as often as they are known; the latest counts.
    pub usage: Option<Usage>,
    /// Bytes of text the model wrote in these events.
    pub output_bytes: u32,
    /// The client has its terminal event; nothing follows.
    pub last: bool,
}

/// No text.
impl Text for () {
    type State = ();
    type Relay = ();

    const OFFERED: bool = false;

    fn prepare(_: &Context, request: TextRequest) -> Result<Prepared<()>, Refusal> {
        Err(Refusal::NotFound(format!("this family does not serve {:?}", request.surface)))
    }

    fn answer(_: &Context, (): (), _: Reply) -> Result<Answered, TextFailure> {
        Err(TextFailure::upstream("this family has no text"))
    }

    fn relay(_: &Context, (): ()) {}
}

/// No stream.
impl Relay for () {
    fn push(&mut self, _: Vec<Sse>) -> Result<Chunk, TextFailure> {
        Err(TextFailure::upstream("this family has no text"))
    }

    fn end(&mut self) -> Result<Chunk, TextFailure> {
        Err(TextFailure::upstream("this family has no text"))
    }
}
