//! One loaded version of a family, and its calls for tasks. Checks the size of each input and the rules of each answer.

use gatehouse_guest::{Guest, LogSource};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use gatehouse_model::{
    About, Accepted, Body, Call, Context, Digest, Event, Json, Reading, Refusal, Replay, Reply, Status, Step,
    Submission, SurfaceInfo, TaskId, TaskView, metric,
};
use wasmtime::Store;

use crate::abi_v1::exports::{Family, FamilyPre};
use crate::abi_v1::{bulk, jobs, views};
use crate::config::{Config, FamilyConfig};
use crate::exec::answer_rules;
use crate::exec::instance::{CallSetup, call};
use crate::exec::limits::Limits;
use crate::fault::{Fault, OUTCOMES};

/// The name of a request in faults.
pub(crate) const REQUEST: &str = "the request's JSON";
/// A reply as its limits name it.
pub(crate) const REPLY: &str = "the upstream's reply";

/// A loaded version. It stays loaded while an `Arc` of it exists; a task that is pinned to it keeps one.
pub struct Version {
    pub(crate) about: About,
    pub(crate) digest: Digest,
    /// What the operator set for its family; replaced when that changes.
    pub(crate) config: ArcSwap<FamilyConfig>,
    pub(crate) pre: FamilyPre,
    pub(crate) log_source: LogSource,
    /// It failed in its canary period and gets no new calls.
    pub(crate) rolled_back: AtomicBool,
    /// The log has said that it cannot read a state.
    pub(crate) unread_logged: AtomicBool,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.about.family, self.about.version, self.digest.short())
    }
}

impl Version {
    /// Its manifest.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The digest of its component.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.about.family
    }

    /// What each of its calls may use.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.config.load().limits
    }

    /// The operator's table for its family, as JSON: the `settings` of a context.
    #[must_use]
    pub fn settings(&self) -> Arc<str> {
        Arc::clone(&self.config.load().settings)
    }

    /// From its next call on it has the limits and settings of `config`.
    pub(crate) fn configure(&self, config: &Config) {
        self.config.store(Arc::new(config.of_family(self.family())));
    }

    /// Whether `model` (its own id) is served on `surface`.
    #[must_use]
    pub fn serves(&self, surface: &str, model: &str) -> bool {
        let on = |surfaces: &[String]| surfaces.iter().any(|served| served == surface);
        self.about.models.iter().any(|info| info.id == model && on(&info.surfaces))
    }

    /// Its surface of that name.
    #[must_use]
    pub fn surface(&self, name: &str) -> Option<&SurfaceInfo> {
        self.about.surfaces.iter().find(|surface| surface.name == name)
    }

    /// Whether a request on `surface` joins its parent.
    pub(crate) fn joins(&self, surface: &str) -> bool {
        self.surface(surface).is_some_and(|surface| surface.joins)
    }

    /// Whether its text half serves `surface`.
    pub(crate) fn serves_text(&self, surface: &str) -> bool {
        self.about.offers.text && self.about.surfaces.iter().any(|own| own.name == surface)
    }

    /// Counts an answer of a call.
    pub(crate) fn count_call(&self, function: &'static str, outcome: &'static str) {
        let family = self.family().to_owned();
        metrics::counter!(metric::PLUGIN_CALLS, "family" => family, "function" => function, "outcome" => outcome)
            .increment(1);
    }

    /// Counts what has not happened yet, for what this version serves: an alert on a counter's growth does not see the value
    /// it is born with.
    pub(crate) fn begin_counting(&self) {
        let family = || self.family().to_owned();
        let mut functions = Vec::new();
        functions.extend(self.about.offers.jobs.then_some(["submit", "advance"]).into_iter().flatten());
        let answers = self.about.offers.text || self.about.offers.dialect || self.about.offers.direct;
        functions.extend(answers.then_some(["prepare", "answer"]).into_iter().flatten());
        for function in functions {
            for outcome in OUTCOMES {
                metrics::counter!(metric::PLUGIN_CALLS, "family" => family(), "function" => function, "outcome" => outcome)
                    .increment(0);
            }
            metrics::counter!(metric::PLUGIN_FALLBACKS, "family" => family(), "function" => function)
                .increment(0);
        }
        metrics::counter!(metric::PLUGIN_QUEUE_FULL, "family" => family()).increment(0);
        metrics::counter!(metric::PLUGIN_ROLLED_BACK, "family" => family()).increment(0);
        let models = self.about.models.iter().filter(|_| self.about.offers.jobs);
        for model in models.map(|model| model.id.clone()) {
            for name in [metric::TASKS_ACCEPTED, metric::TASKS_TOO_LATE, metric::TASKS_JOINED] {
                metrics::counter!(name, "model" => model.clone()).increment(0);
            }
            for outcome in [Status::Completed, Status::Failed] {
                metrics::counter!(metric::TASKS_ENDED, "model" => model.clone(), "outcome" => outcome.as_str()).increment(0);
            }
        }
    }

    /// Whether both write the same state version.
    pub(crate) fn shares_state_with(&self, other: &Self) -> bool {
        self.about.state_version == other.about.state_version
    }

    pub(crate) fn is_rolled_back(&self) -> bool {
        self.rolled_back.load(Ordering::Acquire)
    }

    pub(crate) fn set_rolled_back(&self, rolled_back: bool) {
        self.rolled_back.store(rolled_back, Ordering::Release);
    }

    /// Whether this is the first time that it cannot read a state: the log says once what to do about it.
    pub fn is_first_unread(&self) -> bool {
        !self.unread_logged.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn call_setup(&self, task: Option<TaskId>, budget_ms: u32) -> CallSetup {
        let source = LogSource { task, ..self.log_source.clone() };
        CallSetup { limits: self.limits(), source, budget_ms }
    }

    /// For a call whose answer is dropped, with the time of a deployment: no operator must take its lines for events.
    fn trial_setup(&self, task: Option<TaskId>) -> CallSetup {
        let setup = self.call_setup(task, self.limits().load_ms.get());
        CallSetup { source: LogSource { is_trial: true, ..setup.source }, ..setup }
    }

    /// One call on a fresh instance.
    pub(crate) fn call<R>(
        &self,
        task: Option<TaskId>,
        budget_ms: u32,
        body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        call(&self.pre, self.call_setup(task, budget_ms), body)
    }

    /// The same with the limits for an input of that many bytes.
    pub(crate) fn call_for_input<R>(
        &self,
        bytes: usize,
        budget_ms: u32,
        body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        let limits = self.limits().for_input(bytes);
        let budget_ms = budget_ms.max(limits.call_ms.get());
        call(&self.pre, CallSetup { limits, ..self.call_setup(None, budget_ms) }, body)
    }

    pub(crate) fn submit(
        &self,
        cx: &Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        self.submit_with(self.call_setup(cx.task, self.limits().call_ms.get()), cx, submission)
    }

    /// The same as a trial.
    pub(crate) fn try_submit(
        &self,
        cx: &Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        self.submit_with(self.trial_setup(cx.task), cx, submission)
    }

    fn submit_with(
        &self,
        setup: CallSetup,
        cx: &Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        let bytes = submission.body.len();
        let record = self.check_submission(&submission)?;
        let answer = call(&self.pre, setup, |family, store| jobs::submit(family, store, cx, submission));
        self.judge_submitted(answer, bytes, record)
    }

    /// The bytes of the tasks and names that a request refers to.
    pub(crate) fn check_submission(&self, submission: &Submission) -> Result<usize, Fault> {
        self.check_input(REQUEST, submission.body.len(), self.limits().input())?;
        let parents = submission.parents.iter().map(|parent| parent.public.len() + parent.private.len());
        let names = submission.owned.iter().map(|owned| owned.private.len());
        let record = parents.chain(names).sum();
        self.check_input("the record of the tasks and names it refers to", record, self.limits().input())?;
        Ok(record)
    }

    /// The verdict about a request of `bytes` with a `record` of what it refers to.
    pub(crate) fn judge_submitted(
        &self,
        answer: Result<Result<Accepted, Refusal>, Fault>,
        bytes: usize,
        record: usize,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        match answer.map_err(|fault| fault.for_input(REQUEST, bytes))? {
            Ok(accepted) => {
                let state = accepted.state.len();
                answer_rules::accepted(accepted, &self.about, &self.limits())
                    .map(Ok)
                    .map_err(|fault| fault.for_state_of(bytes + record, state))
            }
            Err(refusal) => Ok(Err(answer_rules::refusal(refusal))),
        }
    }

    pub(crate) fn advance(&self, cx: &Context, state: &[u8], event: Event) -> Result<Step, Fault> {
        self.advance_with(self.call_setup(cx.task, self.limits().call_ms.get()), cx, state, event)
    }

    /// The same as a trial.
    pub(crate) fn try_advance(&self, cx: &Context, state: &[u8], event: Event) -> Result<Step, Fault> {
        self.advance_with(self.trial_setup(cx.task), cx, state, event)
    }

    fn advance_with(
        &self,
        setup: CallSetup,
        cx: &Context,
        state: &[u8],
        event: Event,
    ) -> Result<Step, Fault> {
        self.check_input("the task's state", state.len(), self.limits().state())?;
        if let Event::Reply(reply) = &event
            && let Body::Inline(bytes) = &reply.body
        {
            self.check_input(REPLY, bytes.len(), self.limits().crossing())?;
        }
        let step = call(&self.pre, setup, |family, store| jobs::advance(family, store, cx, state, event))?;
        answer_rules::step(step, cx.now, &self.about, &self.limits())
    }

    /// A task as the family renders it.
    pub(crate) fn view(&self, cx: &Context, surface: &str, view: TaskView) -> Result<Json, Fault> {
        let json = self.call(cx.task, self.limits().call_ms.get(), |family, store| {
            views::view(family, store, cx, surface, view)
        })?;
        answer_rules::rendered("view", &json)?;
        Ok(json)
    }

    /// One call for the items of several.
    pub(crate) fn merge(&self, cx: &Context, key: &str, items: &[String]) -> Result<Call, Fault> {
        let bytes = items.iter().map(String::len).sum();
        let call = self
            .call_for_input(bytes, self.limits().call_ms.get(), |family, store| {
                bulk::merge(family, store, cx, key, items)
            })
            .map_err(|fault| fault.for_input("the list of tasks", bytes))?;
        answer_rules::call(&call, &self.about.providers)?;
        if call.replay != Replay::Safe || call.shared.is_some() {
            return Err(Fault::bad("merge", "expected a safe call that is not shared again"));
        }
        if call.reading != Reading::Whole {
            // A saved reply would belong to no task.
            return Err(Fault::bad("merge", "expected a call whose reply is read whole"));
        }
        Ok(call)
    }

    /// The reply to each item of a merged call.
    pub(crate) fn split(
        &self,
        cx: &Context,
        key: &str,
        items: &[String],
        reply: Reply,
    ) -> Result<Vec<Option<Reply>>, Fault> {
        let bytes = match &reply.body {
            Body::Inline(bytes) => bytes.len(),
            Body::Blob(_) => 0,
        };
        self.check_input(REPLY, bytes, self.limits().crossing())?;
        let affinity = reply.affinity.clone();
        let mut replies = self
            .call_for_input(bytes, self.limits().call_ms.get(), |family, store| {
                bulk::split(family, store, cx, key, items, reply)
            })
            .map_err(|fault| fault.for_input(REPLY, bytes))?;
        if replies.len() != items.len() {
            let why =
                format!("expected a reply or none for each of {} items, got {}", items.len(), replies.len());
            return Err(Fault::bad("split", why));
        }
        if replies.iter().flatten().any(|reply| matches!(reply.body, Body::Blob(_))) {
            return Err(Fault::bad("split", "expected bodies in hand, got a blob"));
        }
        // The account is the host's to name.
        replies.iter_mut().flatten().for_each(|reply| reply.affinity.clone_from(&affinity));
        Ok(replies)
    }

    pub(crate) fn migrate(&self, from: u32, state: &[u8]) -> Result<Result<Vec<u8>, String>, Fault> {
        self.migrate_with(self.call_setup(None, self.limits().load_ms.get()), from, state)
    }

    /// The same as a trial.
    pub(crate) fn try_migrate(&self, from: u32, state: &[u8]) -> Result<Result<Vec<u8>, String>, Fault> {
        self.migrate_with(self.trial_setup(None), from, state)
    }

    fn migrate_with(
        &self,
        setup: CallSetup,
        from: u32,
        state: &[u8],
    ) -> Result<Result<Vec<u8>, String>, Fault> {
        if !self.about.reads_state.contains(&from) {
            let why = format!("state version {from} is not among those it reads");
            return Err(Fault::Host(format!("{self:?}: {why}")));
        }
        let migrated = call(&self.pre, setup, |family, store| jobs::migrate(family, store, from, state))?;
        if let Ok(state) = &migrated {
            answer_rules::state(state, &self.limits())?;
        }
        Ok(migrated)
    }

    pub(crate) fn check_input(&self, what: &'static str, bytes: usize, limit: usize) -> Result<(), Fault> {
        if bytes > limit { Err(Fault::InputTooLarge { what, bytes, limit }) } else { Ok(()) }
    }
}
