//! Requests that are answered while the client waits, with what one call returned: a sound, a file, a list.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::context::Context;
use crate::contract::direct::{DirectRequest, Plan, Response};
use crate::contract::failure::{Failure, Refusal};
use crate::contract::reply::Reply;
use crate::interfaces::Family;

/// A family with surfaces that are answered at once. Their routes say so: [`HttpRoute::answer`](crate::HttpRoute::answer) and
/// [`HttpRoute::read`](crate::HttpRoute::read).
///
/// ```
/// use gatehouse_sdk::{
///     About, Call, Charge, Context, Direct, DirectRequest, Exchange, Failure, Family, Plan, Refusal, Reply, Response,
/// };
/// use serde_json::json;
///
/// struct Speech;
///
/// impl Family for Speech {
///     fn about() -> About {
///         About::new("speech", "0.1.0")
///     }
/// }
///
/// impl Direct for Speech {
///     type State = ();
///
///     fn prepare(_: &Context, request: DirectRequest) -> Result<Plan<()>, Refusal> {
///         if request.surface == "voices.list" {
///             return Ok(Plan::Respond(Response::json(&json!({"voices": ["anna"]})).fresh_for(3600)));
///         }
///         let text = request.body["input"].as_str().unwrap_or_default();
///         let call = Call::post("speech", "/v1/speech").json(&json!({"text": text}));
///         let characters = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
///         let charge = Charge::keys(["voice-1"]).times(characters).of("character");
///         Ok(Plan::Call(Exchange::new(call, ()).charge(charge).passes("audio/*")))
///     }
///
///     fn answer(_: &Context, (): (), reply: Reply) -> Result<Response, Failure> {
///         Err(Failure::upstream(format!("the provider answered with status {}", reply.status)))
///     }
/// }
/// ```
pub trait Direct: Family {
    /// What the answer needs to know of the request, kept as JSON.
    type State: Serialize + DeserializeOwned;

    /// Checks and translates a request, once. The host may make the call through one account after another.
    ///
    /// # Errors
    /// A [`Refusal`] becomes an HTTP error at once, and nothing is charged.
    fn prepare(cx: &Context, request: DirectRequest) -> Result<Plan<Self::State>, Refusal>;

    /// Translates an answer that does not pass, and every answer outside of 200 to 299.
    ///
    /// # Errors
    /// A [`Failure`] becomes an HTTP error, unless another account answers; the hold is released.
    fn answer(cx: &Context, state: Self::State, reply: Reply) -> Result<Response, Failure>;
}
