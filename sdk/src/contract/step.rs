//! One step of a task: the next action, the stage and the progress.

use serde_json::{Map, Value};

use super::accepted::Stage;
use super::call::{Affinity, Call};
use super::context::UnixMs;
use super::failure::{Charge, Failure};
use super::json::{self, Extra};
use super::media::{Probe, Product};
use super::parent::Claim;
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
    Fail(Ending),
    /// An action of a later host, by its name. A host that does not know it refuses the step.
    Other(String, Value),
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
    /// Names the customer owns from now on.
    pub claims: Vec<Claim>,
    /// Bill this instead of the charge, up to what was held. Requests that joined the task are billed as they are.
    pub settle: Option<Charge>,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl Outcome {
    /// A result without products.
    #[must_use]
    pub fn new(public: Value) -> Self {
        Self {
            public,
            private: Value::Null,
            products: Vec::new(),
            claims: Vec::new(),
            settle: None,
            extra: Extra::new(),
        }
    }

    /// Adds a product to copy.
    #[must_use]
    pub fn product(self, source: impl Into<String>, mime: Option<&str>) -> Self {
        self.with(Product { mime: mime.map(str::to_owned), ..Product::new(source) })
    }

    /// Adds a product to copy, or a part of one.
    #[must_use]
    pub fn with(mut self, product: Product) -> Self {
        self.products.push(product);
        self
    }

    /// Claims a name for the customer.
    #[must_use]
    pub fn claim(mut self, name: impl Into<String>, private: Value, affinity: Option<Affinity>) -> Self {
        self.claims.push(Claim { name: name.into(), private, affinity });
        self
    }

    /// Keeps something for follow-ups.
    #[must_use]
    pub fn private(mut self, private: Value) -> Self {
        self.private = private;
        self
    }

    /// Bills this instead of the charge, up to what was held.
    #[must_use]
    pub fn settle(mut self, charge: Charge) -> Self {
        self.settle = Some(charge);
        self
    }
}

/// What clients and follow-ups see of a task that goes on. Placeholders as in [`Outcome`].
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The client's `result` so far.
    pub public: Value,
    /// Kept for follow-ups, never shown.
    pub private: Value,
    /// What the host copies before the view is shown.
    pub products: Vec<Product>,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl View {
    /// A view without products.
    #[must_use]
    pub fn new(public: Value, private: Value) -> Self {
        Self { public, private, products: Vec::new(), extra: Extra::new() }
    }

    /// A task that waits for its client: for `what`, such as the name of the route that goes on, and why the last try did
    /// not do. Clients read both beside the `result`, not in it.
    ///
    /// ```
    /// use gatehouse_sdk::View;
    /// use serde_json::{Value, json};
    ///
    /// let view = View::waiting_for("modal", None, Value::Null);
    /// assert_eq!(view.public, json!({"waiting_for": "modal"}));
    /// ```
    #[must_use]
    pub fn waiting_for(what: &str, why: Option<&str>, private: Value) -> Self {
        let mut public = Map::from_iter([("waiting_for".to_owned(), Value::from(what))]);
        public.extend(why.map(|why| ("waiting_reason".to_owned(), Value::from(why))));
        Self::new(Value::Object(public), private)
    }
}

/// A bad end. The host refunds it in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Why.
    pub failure: Failure,
    /// What the client still gets; without it the last view stays.
    pub public: Option<Value>,
    /// Kept for follow-ups.
    pub private: Option<Value>,
    /// What the host copies.
    pub products: Vec<Product>,
    /// Names the customer owns from now on.
    pub claims: Vec<Claim>,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            public: None,
            private: None,
            products: Vec::new(),
            claims: Vec::new(),
            extra: Extra::new(),
        }
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
    /// What clients see from now on; nothing new when there is none.
    pub view: Option<View>,
    /// The next action.
    pub next: Action,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl<S> Step<S> {
    /// `next`, with the task still "submitted, 0 %".
    #[must_use]
    pub fn new(state: S, next: Action) -> Self {
        Self { state, stage: Stage::Submitted, progress: 0, view: None, next, extra: Extra::new() }
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

    /// End badly: a [`Failure`], or an [`Ending`] with a result.
    #[must_use]
    pub fn fail(state: S, ending: impl Into<Ending>) -> Self {
        Self::new(state, Action::Fail(ending.into()))
    }

    /// The same with another state, such as that of a family with several machines.
    #[must_use]
    pub fn map<T>(self, change: impl FnOnce(S) -> T) -> Step<T> {
        let Self { state, stage, progress, view, next, extra } = self;
        Step { state: change(state), stage, progress, view, next, extra }
    }

    /// Shows a view while the task goes on.
    #[must_use]
    pub fn view(mut self, view: View) -> Self {
        self.view = Some(view);
        self
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
            public: outcome.public.to_string(),
            private: outcome.private.to_string(),
            products: outcome.products.into_iter().map(Into::into).collect(),
            claims: outcome.claims.into_iter().map(Into::into).collect(),
            settle: outcome.settle.map(Into::into),
            extra: json::extra(outcome.extra),
        }
    }
}

impl From<View> for jobs::View {
    fn from(view: View) -> Self {
        Self {
            public: view.public.to_string(),
            private: view.private.to_string(),
            products: view.products.into_iter().map(Into::into).collect(),
            extra: json::extra(view.extra),
        }
    }
}

impl From<Ending> for jobs::Ending {
    fn from(ending: Ending) -> Self {
        Self {
            failure: ending.failure,
            public: ending.public.map(|public| public.to_string()),
            private: ending.private.map(|private| private.to_string()),
            products: ending.products.into_iter().map(Into::into).collect(),
            claims: ending.claims.into_iter().map(Into::into).collect(),
            extra: json::extra(ending.extra),
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
            Action::Fail(ending) => jobs::Action::Fail(ending.into()),
            Action::Other(name, value) => jobs::Action::Other((name, value.to_string())),
        };
        Self {
            state: step.state,
            stage: step.stage,
            progress: step.progress,
            view: step.view.map(Into::into),
            next,
            extra: json::extra(step.extra),
        }
    }
}
