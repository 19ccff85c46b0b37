//! Long jobs: images, videos, assets. A state machine without I/O: (state, event) -> (state, action).
//!
//! ```text
//! submit --accepted--> Start --> call | probe | wait --> Reply | Outage | Probed | Timer --> ...
//!                                                    done --copy failed--> Lost --> ...
//! ```
//! The host keeps the state durably between steps, so a family never remembers anything by itself.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Accepted, Context, Facts, Failure, Finding, Outage, Refusal, Reply, Step};

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
///                 Step::done(prompt, Outcome::new(json!({"said": reply.text()})))
///             }
///             _ => Step::fail(prompt, Failure::upstream("nobody answered")),
///         }
///     }
/// }
/// ```
pub trait Jobs: 'static {
    /// What the family remembers of a task between steps, kept as JSON. Mind the version: a change that
    /// an old state does not read needs a new [`Jobs::STATE_VERSION`].
    type State: Serialize + DeserializeOwned;

    /// Stamped on every state this build writes.
    const STATE_VERSION: u32 = 1;
    /// Older versions [`Jobs::migrate`] accepts.
    const READS_STATE: &'static [u32] = &[];
    /// Whether this half of the contract is real; only `()` says no.
    const OFFERED: bool = true;

    /// Judges a request. Nothing may be sent yet; only the request itself is in hand.
    ///
    /// # Errors
    /// A [`Refusal`] becomes an HTTP error at once, and nothing is charged.
    fn submit(cx: &Context, request: Submission) -> Result<Accepted<Self::State>, Refusal>;

    /// One step of a task.
    fn advance(cx: &Context, state: Self::State, event: Event) -> Step<Self::State>;

    /// Rewrites the state of an older build.
    ///
    /// # Errors
    /// Why it cannot be read; the host then lets the older build finish the task.
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

/// The task a follow-up refers to. The host has already checked that it belongs to the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Parent {
    /// Its id.
    pub task: String,
    /// Its own model id, never an alias.
    pub model: String,
    /// Whether it ended well.
    pub completed: bool,
    /// What the client reads as `result`.
    pub public: Value,
    /// What the family kept for follow-ups.
    pub private: Value,
}

/// A request to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// "images.generate", ...
    pub surface: String,
    /// The body as the client wrote it, with long media cut out (`blob:<id>` in their place).
    pub body: Value,
    /// The task a follow-up refers to.
    pub parent: Option<Parent>,
    /// Facts about the blobs cut out of `body`, in order of appearance; [`Facts::blob`] is always there.
    pub blobs: Vec<Facts>,
}

impl Submission {
    /// A request without media and without a parent.
    ///
    /// ```
    /// use gatehouse_sdk::Submission;
    /// let request = Submission::new("images.generate", serde_json::json!({"prompt": "a kite"}));
    /// assert!(request.blobs.is_empty() && request.parent.is_none());
    /// ```
    #[must_use]
    pub fn new(surface: impl Into<String>, body: Value) -> Self {
        Self { surface: surface.into(), body, parent: None, blobs: Vec::new() }
    }
}

/// What a task's state machine is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The task begins.
    Start,
    /// The call was answered.
    Reply(Reply),
    /// The call was not answered.
    Outage(Outage),
    /// The probes' findings, in the order of the probes.
    Probed(Vec<Finding>),
    /// The wait is over.
    Timer,
    /// The client wants the task stopped. Failing stops it; waiting says that it cannot be stopped.
    Cancel,
    /// A product could not be copied.
    Lost {
        /// The product's source.
        source: String,
        /// Why.
        reason: String,
    },
}

impl Event {
    /// The event's name, for logs.
    ///
    /// ```
    /// assert_eq!(gatehouse_sdk::Event::Timer.name(), "timer");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Reply(_) => "reply",
            Self::Outage(_) => "outage",
            Self::Probed(_) => "probed",
            Self::Timer => "timer",
            Self::Cancel => "cancel",
            Self::Lost { .. } => "lost",
        }
    }
}
