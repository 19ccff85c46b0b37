//! Dialects: a provider's own text protocol, between the host's text families and the provider.
//!
//! Whatever a client speaks, a dialect gets a Messages request and gives back a Messages answer or its events, so it serves
//! every surface of text without knowing any.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::completion::{Sse, TextFailure};
use crate::contract::context::Context;
use crate::contract::failure::Refusal;
use crate::contract::reply::Reply;
use crate::contract::translation::{DialectPrepared, DialectRequest};
use crate::interfaces::Family;

/// A family that speaks text protocols of providers. Its manifest names them: [`About::dialect`](crate::About::dialect).
///
/// ```
/// use gatehouse_sdk::{
///     About, Call, Context, Dialect, DialectPrepared, DialectRequest, Family, FrameReader, Framing, Refusal, Reply, Sse,
///     TextFailure,
/// };
/// use serde_json::{Value, json};
///
/// struct Brook;
///
/// impl Family for Brook {
///     fn about() -> About {
///         About::new("brook", "0.1.0").dialect("brook")
///     }
/// }
///
/// impl Dialect for Brook {
///     type State = ();
///     type Reader = Lines;
///
///     fn prepare(_: &Context, request: DialectRequest) -> Result<DialectPrepared<()>, Refusal> {
///         let body: Value = serde_json::from_str(&request.body).expect("the host writes JSON");
///         let call = Call::post(request.provider, "/v1/say").json(&json!({"said": body["messages"]}));
///         Ok(DialectPrepared::new(call, Framing::Lines, ()))
///     }
///
///     fn answer(_: &Context, (): (), reply: Reply) -> Result<String, TextFailure> {
///         if !reply.is_success() {
///             return Err(TextFailure::upstream("the provider did not answer"));
///         }
///         let content = json!([{"type": "text", "text": reply.text()}]);
///         Ok(json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}).to_string())
///     }
///
///     fn reader(_: &Context, (): ()) -> Lines {
///         Lines
///     }
/// }
///
/// struct Lines;
///
/// impl FrameReader for Lines {
///     fn push(&mut self, frames: Vec<Sse>) -> Result<Vec<Sse>, TextFailure> {
///         // A real dialect makes `message_start`, `content_block_delta` and so on of them.
///         Ok(frames)
///     }
///
///     fn end(&mut self) -> Result<Vec<Sse>, TextFailure> {
///         Ok(Vec::new())
///     }
/// }
/// ```
pub trait Dialect: Family {
    /// What the answer needs to know of the request, kept as JSON.
    type State: Serialize + DeserializeOwned;
    /// A stream under way.
    type Reader: FrameReader;

    /// Translates a request, once. The host may make the call through one account after another.
    ///
    /// # Errors
    /// A [`Refusal`] names the field of the Messages request; the client reads its own field's name, and nothing is charged.
    fn prepare(cx: &Context, request: DialectRequest) -> Result<DialectPrepared<Self::State>, Refusal>;

    /// Makes a Messages answer of a whole answer; also of every answer outside 200 to 299, which must fail.
    ///
    /// # Errors
    /// A [`TextFailure`] becomes an HTTP error, unless another account answers; the hold is released.
    fn answer(cx: &Context, state: Self::State, reply: Reply) -> Result<String, TextFailure>;

    /// Begins a stream.
    fn reader(cx: &Context, state: Self::State) -> Self::Reader;
}

/// One stream: the provider's frames in, the events of a Messages provider out. It runs in an instance of its own, so it may
/// keep state in memory.
pub trait FrameReader: 'static {
    /// The provider's next frames, one or more. A frame of another framing than events has no name.
    ///
    /// # Errors
    /// A [`TextFailure`] ends the stream; the host writes the error event.
    fn push(&mut self, frames: Vec<Sse>) -> Result<Vec<Sse>, TextFailure>;

    /// The provider has closed the stream. Without a `message_stop` the host treats it as cut.
    ///
    /// # Errors
    /// As [`FrameReader::push`].
    fn end(&mut self) -> Result<Vec<Sse>, TextFailure>;
}
