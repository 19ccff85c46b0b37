//! An accepted submission.

use std::time::Duration;

pub use crate::bindings::gatehouse::family::parents::Stage;

use super::failure::{Charge, Failure};
use super::json::{self, Extra, short_millis};
use crate::bindings::exports::gatehouse::family::jobs;

/// An accepted submission. `S` is the family's state.
///
/// ```
/// use std::time::Duration;
/// use gatehouse_sdk::{Accepted, Charge, Failure, Stage};
///
/// let accepted = Accepted::new("painter-1", Charge::keys(["painter-1"]), "state")
///     .expected(Duration::from_secs(10));
/// assert_eq!(accepted.stage, Stage::Submitted);
///
/// let doomed = Accepted::<&str>::doomed("painter-1", Charge::keys(["painter-1"]), Failure::request("no"));
/// assert!(doomed.state.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted<S> {
    /// The model's own id, never an alias.
    pub model: String,
    /// What the task costs where its outcome does not settle.
    pub charge: Charge,
    /// The most that its outcome may settle for, where that can be more than the charge: the dearer of both is held.
    pub at_most: Option<Charge>,
    /// The stage the task starts in.
    pub stage: Stage,
    /// 0 to 100.
    pub progress: u8,
    /// How long such a job usually takes.
    pub expected: Option<Duration>,
    /// The family's state. A doomed task has none; it never takes a step. A request that joins a task has none
    /// either.
    pub state: Option<S>,
    /// Handed over with `Start` or `Joined`, and then forgotten: what is too long for a state.
    pub brief: Vec<u8>,
    /// Accept now, fail at once: some families report bad parameters only through the task.
    pub doomed: Option<Failure>,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl<S> Accepted<S> {
    /// Accepted, durable, nothing sent yet.
    #[must_use]
    pub fn new(model: impl Into<String>, charge: Charge, state: S) -> Self {
        Self { state: Some(state), ..Self::joining(model, charge) }
    }

    /// Accepted to join the living task it names; its brief is all that the task gets.
    #[must_use]
    pub fn joining(model: impl Into<String>, charge: Charge) -> Self {
        Self {
            model: model.into(),
            charge,
            at_most: None,
            stage: Stage::Submitted,
            progress: 0,
            expected: None,
            state: None,
            brief: Vec::new(),
            doomed: None,
            extra: Extra::new(),
        }
    }

    /// Accepted only to fail with `failure`.
    #[must_use]
    pub fn doomed(model: impl Into<String>, charge: Charge, failure: Failure) -> Self {
        Self { doomed: Some(failure), ..Self::joining(model, charge) }
    }

    /// The same with another state, such as that of a family with several machines.
    #[must_use]
    pub fn map<T>(self, change: impl FnOnce(S) -> T) -> Accepted<T> {
        let Self { model, charge, at_most, stage, progress, expected, state, brief, doomed, extra } = self;
        let state = state.map(change);
        Accepted { model, charge, at_most, stage, progress, expected, state, brief, doomed, extra }
    }

    /// Sets the most that its outcome may settle for.
    #[must_use]
    pub fn at_most(mut self, charge: Charge) -> Self {
        self.at_most = Some(charge);
        self
    }

    /// Sets what `Start` or `Joined` hands over.
    #[must_use]
    pub fn brief(mut self, brief: impl Into<Vec<u8>>) -> Self {
        self.brief = brief.into();
        self
    }

    /// Sets the usual duration of such a job.
    #[must_use]
    pub fn expected(mut self, span: Duration) -> Self {
        self.expected = Some(span);
        self
    }

    /// Sets another start than "submitted, 0 %".
    #[must_use]
    pub fn starting(mut self, stage: Stage, progress: u8) -> Self {
        self.stage = stage;
        self.progress = progress;
        self
    }
}

impl From<Accepted<Vec<u8>>> for jobs::Accepted {
    fn from(accepted: Accepted<Vec<u8>>) -> Self {
        Self {
            model: accepted.model,
            charge: accepted.charge.into(),
            at_most: accepted.at_most.map(Into::into),
            stage: accepted.stage,
            progress: accepted.progress,
            expected_ms: accepted.expected.map(short_millis),
            state: accepted.state.unwrap_or_default(),
            brief: accepted.brief,
            doomed: accepted.doomed,
            extra: json::extra(accepted.extra),
        }
    }
}
