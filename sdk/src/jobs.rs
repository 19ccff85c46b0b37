//! Long jobs: images, videos, assets. A state machine without I/O: (state, event) -> (state, action).
//!
//! ```text
//! submit --accepted--> Start --> call | probe | wait --> Reply | Outage | Probed | Timer --> ...
//!                                                    done --copy failed--> Lost --> ...
//! ```
//! The host keeps the state durably between steps; a family keeps nothing in memory.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::accepted::Accepted;
use crate::contract::context::Context;
use crate::contract::failure::{Failure, Refusal};
use crate::contract::step::Step;
use crate::contract::submission::{Event, Submission};

/// A family of long jobs.
///
/// A family that offers none names `()` in [`Family::Jobs`](crate::Family::Jobs).
///
/// ```
/// use gatehouse_sdk::{Accepted, Call, Charge, Context, Event, Failure, Jobs, Outcome, Refusal, Step, Submission};
/// use serde_json::json;
///
/// struct Echo;
///
/// impl Jobs for Echo {
///     type State = String;
///
///     fn submit(_: &Context, request: Submission) -> Result<Accepted<String>, Refusal> {
///         let Some(prompt) = request.body["prompt"].as_str() else {
///             return Err(Refusal::invalid("prompt", "expected a string"));
///         };
///         Ok(Accepted::new("echo-1", Charge::keys(["echo-1"]), prompt.to_owned()))
///     }
///
///     fn advance(_: &Context, prompt: String, event: Event) -> Step<String> {
///         match event {
///             Event::Start => {
///                 let call = Call::post("echo", "/v1/say").json(&json!({"text": prompt}));
///                 Step::call(prompt, call)
///             }
///             Event::Reply(reply) if reply.is_success() => {
///                 Step::done(prompt, Outcome::new(json!({"text": reply.text()})))
///             }
///             _ => Step::fail(prompt, Failure::upstream("the provider did not answer")),
///         }
///     }
/// }
/// ```
pub trait Jobs: 'static {
    /// The state of a task between steps, kept as JSON. A change that cannot read an old state needs a new
    /// [`Jobs::STATE_VERSION`].
    type State: Serialize + DeserializeOwned;

    /// The version of every state this version of the plugin writes.
    const STATE_VERSION: u32 = 1;
    /// Older versions [`Jobs::migrate`] accepts.
    const READS_STATE: &'static [u32] = &[];
    /// Whether the family offers this half of the contract; `false` only for `()`.
    const OFFERED: bool = true;

    /// Checks a request. Nothing is sent yet; only the request is known.
    ///
    /// # Errors
    /// A [`Refusal`] becomes an HTTP error at once, and nothing is charged.
    fn submit(cx: &Context, request: Submission) -> Result<Accepted<Self::State>, Refusal>;

    /// One step of a task.
    fn advance(cx: &Context, state: Self::State, event: Event) -> Step<Self::State>;

    /// Rewrites the state of an older version.
    ///
    /// # Errors
    /// Why it cannot be read; the host then finishes the task on the older version.
    fn migrate(from_version: u32, _state: &[u8]) -> Result<Self::State, String> {
        Err(format!("this build does not read states of version {from_version}"))
    }
}

/// No long jobs.
impl Jobs for () {
    type State = ();

    const OFFERED: bool = false;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<()>, Refusal> {
        Err(Refusal::NotFound(format!("this family does not serve {:?}", request.surface)))
    }

    fn advance(_: &Context, (): (), _: Event) -> Step<()> {
        Step::fail((), Failure::upstream("this family has no long jobs"))
    }
}
