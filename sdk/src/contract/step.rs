//! One step of a task: the next action, the stage and the progress.

use serde_json::Value;

use super::accepted::Stage;
use super::call::Call;
use super::context::UnixMs;
use super::failure::{Charge, Failure};
use super::json;
use super::media::{Probe, Product};
use crate::bindings::exports::gatehouse::family::jobs;

/// The next action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An upstream request.
    Call(Call),
    /// Facts about media.
    Probe(Vec<Probe>),
    /// `Timer`, not before this moment. The host adds jitter and honours `Retry-After`.
    Wait(UnixMs),
    /// A good end, once the products are copied.
    Done(Outcome),
    /// A bad end.
    Fail(Failure),
}

/// A good end.
///
/// A string `media:<n>` in `public` becomes the link of product n, and `expires:<n>` the second at which
/// that link ends:
///
/// ```
/// use gatehouse_sdk::Outcome;
/// use serde_json::json;
///
/// let outcome = Outcome::new(json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}))
///     .product("https://cdn.example.com/a.png", Some("image/png"))
///     .private(json!({"remote": "j1"}));
/// assert_eq!(outcome.products.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The client's `result`.
    pub public: Value,
    /// Kept for follow-ups, never shown.
    pub private: Value,
    /// What the host copies before the task completes.
    pub products: Vec<Product>,
    /// Bill less than was held; never more.
    pub settle: Option<Charge>,
}

impl Outcome {
    /// A result without products.
    #[must_use]
    pub fn new(public: Value) -> Self {
        Self { public, private: Value::Null, products: Vec::new(), settle: None }
    }

    /// Adds a product to copy.
    #[must_use]
    pub fn product(mut self, source: impl Into<String>, mime: Option<&str>) -> Self {
        self.products.push(Product { source: source.into(), mime: mime.map(str::to_owned) });
        self
    }

    /// Keeps something for follow-ups.
    #[must_use]
    pub fn private(mut self, private: Value) -> Self {
        self.private = private;
        self
    }

    /// Bills less than was held.
    #[must_use]
    pub fn settle(mut self, charge: Charge) -> Self {
        self.settle = Some(charge);
        self
    }
}

/// The result of one step of a family's state machine. `S` is the family's state.
///
/// ```
/// use gatehouse_sdk::{Action, Stage, Step, UnixMs};
///
/// let step = Step::wait("state", UnixMs(5_000)).stage(Stage::Processing).progress(40);
/// assert_eq!(step.next, Action::Wait(UnixMs(5_000)));
/// assert_eq!(step.progress, 40);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Step<S> {
    /// The new state.
    pub state: S,
    /// The stage. The host never lets it go back.
    pub stage: Stage,
    /// 0 to 100. The host never lets it fall.
    pub progress: u8,
    /// The next action.
    pub next: Action,
}

impl<S> Step<S> {
    /// `next`, with the task still "submitted, 0 %".
    #[must_use]
    pub fn new(state: S, next: Action) -> Self {
        Self { state, stage: Stage::Submitted, progress: 0, next }
    }

    /// Make this call.
    #[must_use]
    pub fn call(state: S, call: Call) -> Self {
        Self::new(state, Action::Call(call))
    }

    /// Look at these media.
    #[must_use]
    pub fn probe(state: S, probes: Vec<Probe>) -> Self {
        Self::new(state, Action::Probe(probes))
    }

    /// Wake up, not before `moment`.
    #[must_use]
    pub fn wait(state: S, moment: UnixMs) -> Self {
        Self::new(state, Action::Wait(moment))
    }

    /// End well.
    #[must_use]
    pub fn done(state: S, outcome: Outcome) -> Self {
        Self::new(state, Action::Done(outcome)).stage(Stage::Processing)
    }

    /// End badly.
    #[must_use]
    pub fn fail(state: S, failure: Failure) -> Self {
        Self::new(state, Action::Fail(failure))
    }

    /// Sets the stage.
    #[must_use]
    pub fn stage(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }

    /// Sets the progress; more than 100 counts as 100.
    #[must_use]
    pub fn progress(mut self, percent: u8) -> Self {
        self.progress = percent.min(100);
        self
    }
}

impl From<Outcome> for jobs::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            public: json::write(&outcome.public),
            private: json::write(&outcome.private),
            products: outcome.products,
            settle: outcome.settle,
        }
    }
}

impl From<Step<Vec<u8>>> for jobs::Step {
    fn from(step: Step<Vec<u8>>) -> Self {
        let next = match step.next {
            Action::Call(call) => jobs::Action::Call(call),
            Action::Probe(probes) => jobs::Action::Probe(probes),
            Action::Wait(moment) => jobs::Action::Wait(moment.0),
            Action::Done(outcome) => jobs::Action::Done(outcome.into()),
            Action::Fail(failure) => jobs::Action::Fail(failure),
        };
        Self { state: step.state, stage: step.stage, progress: step.progress, next }
    }
}
