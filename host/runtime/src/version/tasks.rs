//! A version's calls for tasks, and what families may offer besides. Checks the size of each input and the rules of each answer.
//!
//! The judgement of a request and the first step of the task that comes of it share one instance: to make another one costs as
//! much as the step. What the two calls check when they are made apart is checked there, too.

use std::sync::Arc;

use gatehouse_model::{
    Accepted, Body, Call, Context, Event, Json, Reading, Replay, Reply, Step, Submission, TaskView,
};

use crate::abi_v1::exports::Callee;
use crate::exec::answer_rules;
use crate::exec::instance::{CallSetup, Instance, call};
use crate::fault::Fault;
use crate::version::loaded::{MAX_KEPT, REPLY, REQUEST, Verdict, Version};

/// The context of the first step of a task that a plugin has accepted; `None` where it is not taken now.
pub type StartContext = Arc<dyn Fn(&Accepted) -> Option<Context> + Send + Sync>;

/// What a plugin makes of a request that it accepts.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The task to be.
    pub accepted: Accepted,
    /// Its first step. `None` where it was not taken, or failed: the task asks for it again.
    pub first_step: Option<Step>,
}

impl Version {
    pub(crate) fn submit(&self, cx: &Context, submission: Submission) -> Verdict<Accepted> {
        self.submit_with(self.call_setup(cx.task, self.limits().call_ms.get()), cx, submission)
    }

    /// The same as a trial.
    pub(crate) fn try_submit(&self, cx: &Context, submission: Submission) -> Verdict<Accepted> {
        self.submit_with(self.trial_setup(cx.task), cx, submission)
    }

    fn submit_with(&self, setup: CallSetup, cx: &Context, submission: Submission) -> Verdict<Accepted> {
        let bytes = submission.body.len();
        let record = self.check_submission(&submission)?;
        let answer = call(&self.pre, setup, |callee| callee.submit(cx, submission));
        self.judge_submitted(answer, bytes, record)
    }

    /// The bytes of the tasks and names that a request refers to.
    fn check_submission(&self, submission: &Submission) -> Result<usize, Fault> {
        self.check_input(REQUEST, submission.body.len(), self.limits().input())?;
        let parents = submission.parents.iter().map(|parent| parent.public.len() + parent.private.len());
        let names = submission.owned.iter().map(|owned| owned.private.len());
        let record = parents.chain(names).sum();
        self.check_input("the record of the tasks and names it refers to", record, self.limits().input())?;
        Ok(record)
    }

    /// The verdict about a request of `bytes` with a `record` of what it refers to.
    fn judge_submitted(&self, answer: Verdict<Accepted>, bytes: usize, record: usize) -> Verdict<Accepted> {
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
        if let Event::Reply(reply) = &event {
            self.check_reply(reply)?;
        }
        let step = call(&self.pre, setup, |callee| callee.advance(cx, state, event))?;
        answer_rules::step(step, cx.now, &self.about, &self.limits())
    }

    /// Judges a request, and takes the first step of its task if `start` gives a context for it.
    pub(crate) fn submit_and_start(
        &self,
        cx: &Context,
        submission: Submission,
        start: &StartContext,
    ) -> Verdict<Submitted> {
        let bytes = submission.body.len();
        // A large request needs the memory of an instance for itself.
        if bytes > MAX_KEPT {
            let answer = self.submit(cx, submission)?;
            return Ok(answer.map(|accepted| Submitted { accepted, first_step: None }));
        }
        let record = self.check_submission(&submission)?;
        let setup = self.call_setup(cx.task, self.limits().call_ms.get());
        let mut instance = Instance::new(&self.pre, setup)?;
        let answer = instance.call(|callee| callee.submit(cx, submission));
        let answer = self.judge_submitted(answer, bytes, record)?;
        Ok(answer.map(|accepted| {
            let first_step = start(&accepted).and_then(|cx| self.first_step(instance, &cx, &accepted));
            Submitted { accepted, first_step }
        }))
    }

    fn first_step(&self, mut instance: Instance, cx: &Context, accepted: &Accepted) -> Option<Step> {
        let start = Event::Start(accepted.brief.clone());
        instance.log_about(cx.task);
        // Whose fault it is shows when the task asks again.
        let step = instance.call(|callee| callee.advance(cx, &accepted.state, start)).ok()?;
        let step = answer_rules::step(step, cx.now, &self.about, &self.limits()).ok()?;
        self.count_call("advance", "ok");
        Some(step)
    }

    /// A task as the family renders it.
    pub(crate) fn view(&self, cx: &Context, surface: &str, view: TaskView) -> Result<Json, Fault> {
        let setup = self.call_setup(cx.task, self.limits().call_ms.get());
        let json = call(&self.pre, setup, |callee| callee.view(cx, surface, view))?;
        answer_rules::rendered("view", &json)?;
        Ok(json)
    }

    /// One call for the items of several.
    pub(crate) fn merge(&self, cx: &Context, key: &str, items: &[String]) -> Result<Call, Fault> {
        let (bytes, budget) = (items.iter().map(String::len).sum(), self.limits().call_ms.get());
        let merge = |callee: &mut Callee<'_>| callee.merge(cx, key, items);
        let call = self.call_for_input("the list of tasks", bytes, budget, merge)?;
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
        let (bytes, budget) = (self.check_reply(&reply)?, self.limits().call_ms.get());
        let affinity = reply.affinity.clone();
        let split = |callee: &mut Callee<'_>| callee.split(cx, key, items, reply);
        let mut replies = self.call_for_input(REPLY, bytes, budget, split)?;
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
        let migrated = call(&self.pre, setup, |callee| callee.migrate(from, state))?;
        if let Ok(state) = &migrated {
            answer_rules::state(state, &self.limits())?;
        }
        Ok(migrated)
    }
}
