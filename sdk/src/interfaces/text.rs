//! Text: one upstream call, answered whole or as a stream of server-sent events. A family translates; the host
//! owns framing, back-pressure, routing and money.
//!
//! Bodies are text, not values: what a family passes on (a signed thinking block) keeps its bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::completion::{Answered, Chunk, Prepared, Sse, TextFailure, TextRequest};
use crate::contract::context::Context;
use crate::contract::failure::Refusal;
use crate::contract::reply::Reply;
use crate::interfaces::Family;

/// A family of text models.
///
/// ```
/// use gatehouse_sdk::{
///     About, Answered, Call, Chunk, Context, Family, Prepared, Refusal, Relay, Reply, Sse, Text, TextFailure,
///     TextRequest,
/// };
///
/// struct Plain;
///
/// impl Family for Plain {
///     fn about() -> About {
///         About::new("plain", "0.1.0")
///     }
/// }
///
/// impl Text for Plain {
///     type State = ();
///     type Relay = Through;
///
///     fn prepare(_: &Context, request: TextRequest) -> Result<Prepared<()>, Refusal> {
///         let call = Call::post(request.route.provider, "/v1/complete").written(request.body);
///         Ok(Prepared { call, streaming: false, input_bytes: 0, pictures: 0, max_output_tokens: 100, state: (), extra: Default::default() })
///     }
///
///     fn answer(_: &Context, (): (), reply: Reply) -> Result<Answered, TextFailure> {
///         if !reply.is_success() {
///             return Err(TextFailure::upstream("the provider did not answer"));
///         }
///         Ok(Answered { body: reply.text().into_owned(), ..Answered::default() })
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
pub trait Text: Family {
    /// What the answer needs to know of the request, kept as JSON.
    type State: Serialize + DeserializeOwned;
    /// A stream under way.
    type Relay: Relay;

    /// Checks and translates a request, once. The host may make the call through one account after another.
    ///
    /// # Errors
    /// A [`Refusal`] becomes an HTTP error at once, and nothing is charged.
    fn prepare(cx: &Context, request: TextRequest) -> Result<Prepared<Self::State>, Refusal>;

    /// Translates a whole answer, and every answer outside 200 to 299, also to a streamed request.
    ///
    /// # Errors
    /// A [`TextFailure`] becomes an HTTP error, unless another account answers; the hold is released.
    fn answer(cx: &Context, state: Self::State, reply: Reply) -> Result<Answered, TextFailure>;

    /// Begins a stream.
    fn relay(cx: &Context, state: Self::State) -> Self::Relay;
}

/// One stream: the provider's events in, the client's out. It runs in an instance of its own, so it may
/// keep state in memory.
pub trait Relay: 'static {
    /// The provider's next events, one or more. A whole body in answer to a streamed request arrives as one event
    /// without a name, once [`Text::answer`] has read it.
    ///
    /// # Errors
    /// A [`TextFailure`] ends the stream; the host writes the error event.
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure>;

    /// The provider has closed the stream. Without [`Chunk::last`] the host treats it as cut.
    ///
    /// # Errors
    /// As [`Relay::push`].
    fn end(&mut self) -> Result<Chunk, TextFailure>;
}
