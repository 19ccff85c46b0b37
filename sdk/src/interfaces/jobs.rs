//! Long jobs: images, videos, assets. A state machine without I/O: (state, event) -> (state, action).
//!
//! ```text
//! submit --accepted--> Start --> call | probe | wait --> Reply | Outage | Probed | Timer --> ...
//!                                                    done --copy failed--> Lost --> ...
//! ```
//! The host keeps the state durably between steps; a family keeps nothing in memory. [`Bulk`] and [`Views`] are optional
//! beside [`Jobs`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::contract::accepted::Accepted;
use crate::contract::call::Call;
use crate::contract::context::Context;
use crate::contract::failure::Refusal;
use crate::contract::parent::TaskView;
use crate::contract::reply::Reply;
use crate::contract::step::Step;
use crate::contract::submission::{Event, Submission};
use crate::interfaces::Family;

/// A family of long jobs.
///
/// ```
/// use gatehouse_sdk::{
///     About, Accepted, Call, Charge, Context, Event, Failure, Family, Jobs, Outcome, Refusal, Step, Submission,
/// };
/// use serde_json::json;
///
/// struct Echo;
///
/// impl Family for Echo {
///     fn about() -> About {
///         About::new("echo", "0.1.0")
///     }
/// }
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
///             Event::Start(_) => {
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
pub trait Jobs: Family {
    /// The state of a task between steps, kept as JSON. A change that cannot read an old state needs a new
    /// [`Family::STATE_VERSION`].
    type State: Serialize + DeserializeOwned;

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

/// A family whose provider answers for many tasks at once. Calls that say [`Call::shared`] with one key, to one account,
/// become one call.
pub trait Bulk: Jobs {
    /// One call for all `items`; safe to repeat.
    fn merge(cx: &Context, key: &str, items: &[String]) -> Call;

    /// The reply to each item, in order; `None` where the answer does not mention it. Then that task makes its own
    /// call.
    fn split(cx: &Context, key: &str, items: &[String], reply: Reply) -> Vec<Option<Reply>>;
}

/// A family that renders its tasks itself on a path of its own.
pub trait Views: Jobs {
    /// The body of the answer to a request for `task` on `surface`. Strings `media:<n>` and `expires:<n>` in it become
    /// links, as in the result of a task.
    fn view(cx: &Context, surface: &str, task: TaskView) -> Value;
}
