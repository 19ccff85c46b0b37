//! Text: one upstream call, answered whole or as a stream of server-sent events. The host owns framing,
//! back-pressure and the money; a family translates.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Call, Charge, Context, Failure, Refusal, Reply};

/// A family of text models. One that offers none names `()` in [`Family::Text`](crate::Family::Text).
///
/// ```
/// use gatehouse_sdk::{Call, Charge, Chunk, Context, Failure, Opened, Refusal, Reply, Sse, Text, Usage};
/// use serde_json::{Value, json};
///
/// struct Plain;
///
/// impl Text for Plain {
///     type State = ();
///
///     fn open(_: &Context, _dialect: &str, body: Value) -> Result<Opened<()>, Refusal> {
///         let call = Call::post("plain", "/v1/complete").json(&body);
///         Ok(Opened { model: "plain-1".into(), charge: Charge::keys(["plain-1"]), call, streaming: false, state: () })
///     }
///
///     fn whole(_: &Context, (): (), reply: Reply) -> Result<(Value, Usage), Failure> {
///         let body = reply.json().map_err(|_| Failure::upstream("the answer does not read"))?;
///         Ok((body, Usage::default()))
///     }
///
///     fn relay(_: &Context, (): (), events: Vec<Sse>, ended: bool) -> Result<Chunk<()>, Failure> {
///         Ok(Chunk { state: (), send: events, usage: None, last: ended })
///     }
/// }
/// ```
pub trait Text: 'static {
    /// What the family remembers during one stream, kept as JSON.
    type State: Serialize + DeserializeOwned;

    /// Whether this half of the contract is real; only `()` says no.
    const OFFERED: bool = true;

    /// Judges a request and translates it. `dialect` names the surface it came through.
    ///
    /// # Errors
    /// A [`Refusal`] becomes an HTTP error at once, and nothing is charged.
    fn open(cx: &Context, dialect: &str, body: Value) -> Result<Opened<Self::State>, Refusal>;

    /// Translates a whole answer.
    ///
    /// # Errors
    /// A [`Failure`] becomes an HTTP error, and the hold is released.
    fn whole(cx: &Context, state: Self::State, reply: Reply) -> Result<(Value, Usage), Failure>;

    /// Translates the next events of a stream; `ended` when the provider has closed it.
    ///
    /// # Errors
    /// A [`Failure`] ends the stream.
    fn relay(
        cx: &Context,
        state: Self::State,
        events: Vec<Sse>,
        ended: bool,
    ) -> Result<Chunk<Self::State>, Failure>;
}

/// No text.
impl Text for () {
    type State = ();

    const OFFERED: bool = false;

    fn open(_: &Context, dialect: &str, _: Value) -> Result<Opened<()>, Refusal> {
        Err(Refusal::NotFound(format!("this family does not serve {dialect:?}")))
    }

    fn whole(_: &Context, (): (), _: Reply) -> Result<(Value, Usage), Failure> {
        Err(Failure::upstream("this family has no text"))
    }

    fn relay(_: &Context, (): (), _: Vec<Sse>, _: bool) -> Result<Chunk<()>, Failure> {
        Err(Failure::upstream("this family has no text"))
    }
}

/// A yes to a text request.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened<S> {
    /// The model's own id, never an alias.
    pub model: String,
    /// The upper estimate to hold.
    pub charge: Charge,
    /// The upstream request.
    pub call: Call,
    /// Whether the answer is a stream.
    pub streaming: bool,
    /// The family's state.
    pub state: S,
}

/// Tokens, as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sse {
    /// Its `event:` line.
    pub event: Option<String>,
    /// Its `data:` lines, joined by line feeds.
    pub data: String,
}

/// What to pass on after some events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<S> {
    /// The new state.
    pub state: S,
    /// Events for the client.
    pub send: Vec<Sse>,
    /// Usage, as soon as it is known.
    pub usage: Option<Usage>,
    /// Nothing follows.
    pub last: bool,
}
