//! A plan: actions of clients and operators with their times, the provider's outcomes by prompt, and outages. A
//! scenario writes it out; [`crate::plan::generate`] makes it from a seed.

use std::collections::{BTreeMap, VecDeque};

use gatehouse_model::Credits;

use crate::plan::requests::{PatchCall, QuiltFields, Submission, SubmissionKind, TextCall};
use crate::record::hook_record::HookAnswer;
use crate::record::outcomes::{ListAnswer, Outages, TaskOutcome};
use crate::record::text_outcomes::TextOutcome;

/// One action of a client or an operator.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A client submits.
    Submit(Submission),
    /// A client sends a patch for a quilt.
    Join(PatchCall),
    /// A client sends a text request.
    Text(TextCall),
    /// A client reads the task of that prompt.
    Read(String),
    /// A client waits so many ms for the end of that prompt's task.
    Await(String, u64),
    /// A client lists its tasks.
    List(usize),
    /// A client cancels the task of that prompt.
    Cancel(String),
    /// An operator activates a version.
    Activate(usize),
    /// An operator rolls a family back.
    RollBack(&'static str),
    /// An operator revokes a key.
    Revoke(usize),
    /// An operator rules on every ambiguous task.
    Rule(OperatorRuling),
    /// The wall clock is set by so many ms.
    SetClock(i64),
    /// The link to that prompt's picture has expired, and the picture is deleted.
    ExpectExpired(String),
    /// The system is stopped and started again, with other prices.
    Restart(i64),
}

/// How an operator rules on ambiguous calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorRuling {
    /// As the provider's record has it: the reply of what it took, and again what it did not take.
    Truth,
    /// Everything is given up.
    Fail,
}

/// Everything that happens in a simulation.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// When, in elapsed milliseconds, and what; in order.
    pub(crate) actions: Vec<(u64, Action)>,
    pub(crate) task_outcomes: BTreeMap<String, TaskOutcome>,
    /// How the provider answers each text request, by prompt.
    pub(crate) text_outcomes: BTreeMap<String, VecDeque<TextOutcome>>,
    /// How the provider answers polls for several jobs.
    pub(crate) lists: VecDeque<ListAnswer>,
    pub(crate) outages: Outages,
    /// Whether faults are injected at random.
    pub(crate) faults: bool,
    /// The seed of the system's own randomness.
    pub(crate) seed: u64,
    /// Time limit of a task, s.
    pub(crate) limit_s: u32,
    /// Whether an operator is asked about ambiguous calls of the provider of tasks.
    pub(crate) asks: bool,
    /// How the receiver of the first customer's webhook answers, in turn; then it takes everything. Without it there is no
    /// webhook.
    pub(crate) webhook: Option<VecDeque<HookAnswer>>,
}

impl Plan {
    /// One task with that outcome, submitted at once.
    pub(crate) fn of(outcome: TaskOutcome) -> Self {
        Self::bare().with_task(100, "one", outcome)
    }

    /// One task of the scribe with that prompt and outcome.
    pub(crate) fn of_scribe(prompt: &str, outcome: TaskOutcome) -> Self {
        Self::bare().with_scribe(100, prompt, outcome)
    }

    pub(crate) fn bare() -> Self {
        Self {
            actions: Vec::new(),
            task_outcomes: BTreeMap::new(),
            text_outcomes: BTreeMap::new(),
            lists: VecDeque::new(),
            outages: Outages::default(),
            faults: false,
            seed: 1,
            limit_s: 120,
            asks: false,
            webhook: None,
        }
    }

    pub(crate) fn with_task(self, at: u64, prompt: &str, outcome: TaskOutcome) -> Self {
        self.with_task_of("ctx-pro", at, prompt, outcome)
    }

    pub(crate) fn with_scribe(self, at: u64, prompt: &str, outcome: TaskOutcome) -> Self {
        self.with_task_of("scribe-1", at, prompt, outcome)
    }

    fn with_task_of(mut self, model: &'static str, at: u64, prompt: &str, outcome: TaskOutcome) -> Self {
        self.task_outcomes.insert(prompt.to_owned(), outcome);
        let submission = Submission {
            key: 0,
            kind: SubmissionKind::Good(model),
            prompt: prompt.to_owned(),
            token: Some(prompt.to_owned()),
            quilt: QuiltFields::default(),
        };
        self.with(at, Action::Submit(submission))
    }

    pub(crate) fn with(mut self, at: u64, act: Action) -> Self {
        self.actions.push((at, act));
        self.actions.sort_by_key(|(at, _)| *at);
        self
    }

    /// The price list, raised by so many credits, or lowered.
    pub(crate) fn prices(raise: i64) -> BTreeMap<String, Credits> {
        let price =
            |(model, credits): (&str, i64)| (model.to_owned(), Credits((credits + raise) * Credits::UNIT));
        [("ctx-pro", 4), ("ctx-max", 8), ("scribe-1", 3), ("quilt-1", 5), ("quilt-patch", 3)]
            .map(price)
            .into()
    }

    /// One text request, with those answers in turn.
    pub(crate) fn of_text(text: TextCall, outcomes: impl IntoIterator<Item = TextOutcome>) -> Self {
        let mut plan = Self::bare();
        plan.text_outcomes.insert(text.prompt.clone(), outcomes.into_iter().collect());
        plan.with(100, Action::Text(text))
    }
}
