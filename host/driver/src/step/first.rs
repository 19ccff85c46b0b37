//! The first step of a task, begun with its submission: its plugin takes it in the call that judges the request, and where it
//! wants a call that may not be repeated and an account has a permit, the attempt becomes durable with the task, in one
//! commit.
//!
//! Nothing leaves before that commit. Where no step may begin, or the plugin took none, the scheduler takes this one like any
//! other.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{Accepted, Action, Context, Event, Replay, Step, Task, TaskId};
use gatehouse_runtime::{StartContext, Version};

use crate::in_progress::InProgressGuard;
use crate::live::live_tasks::StepGuard;
use crate::shared::ShutdownState;
use crate::step::call::attempt::{Attempt, as_called};
use crate::step::log::step_log::event_word;
use crate::step::run::Steps;
use crate::step::run_context::RunContext;

/// A first step whose task is not durable yet.
pub(crate) struct FirstStep {
    run: Box<RunContext>,
    version: Arc<Version>,
    next: Next,
    in_progress: InProgressGuard,
}

/// What follows once the task is durable.
enum Next {
    /// What the plugin wants, of which nothing is in the task yet.
    Step(Step),
    /// Its first call leaves.
    Call(Attempt),
}

impl FirstStep {
    /// The task to be made durable.
    pub(crate) fn task(&self) -> Task {
        self.run.durable.clone()
    }

    /// The task does not begin: nothing leaves, and what was taken for it is free again.
    pub(crate) fn give_up(self) {
        if let Next::Call(attempt) = self.next {
            attempt.give_up();
        }
    }
}

impl Steps {
    /// What the plugin is told in the first step of a task with that id, if one may begin now; `judged` is what it is told with
    /// the request.
    pub(crate) fn start_context(&self, task: TaskId, judged: &Context) -> StartContext {
        let (shared, context) = (Arc::clone(&self.shared), Context { task: Some(task), ..judged.clone() });
        Arc::new(move |accepted: &Accepted| {
            let may_begin = accepted.doomed.is_none() && !shared.has_reached(ShutdownState::Draining);
            let deadline = context.now.plus(shared.time_limit(&accepted.model));
            may_begin.then(|| Context { deadline, ..context.clone() })
        })
    }

    /// Begins the task that `version` has accepted with its first step. `None` where none may begin now.
    pub(crate) fn begin_first_step(
        &self,
        task: &Task,
        version: &Arc<Version>,
        step: Step,
    ) -> Option<Box<FirstStep>> {
        if self.shared.has_reached(ShutdownState::Draining) || self.is_crowded(task) {
            return None;
        }
        let step_permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let in_progress = self.shared.in_progress.begin_step();
        let mut run = RunContext::new(task.clone(), None);
        run.step_permit = Some(step_permit);
        run.steps = 1;
        run.log.span = self.step_span(task);
        let word = event_word(&Event::Start(Bytes::new()));
        run.log.plugin(task.created..self.shared.now(), version.digest(), word, &step);
        let next = self.next_of(&mut run, version, step);
        Some(Box::new(FirstStep { run, version: Arc::clone(version), next, in_progress }))
    }

    /// The call that a step wants becomes part of the task, if it has to be durable before it leaves, and may leave now.
    fn next_of(&self, run: &mut RunContext, by: &Version, step: Step) -> Next {
        let Action::Call(call) = &step.next else { return Next::Step(step) };
        let may_leave = call.replay != Replay::Safe
            && call.affinity.is_none()
            && step.view.is_none()
            && self.calls.files.may_bring_files(call)
            && by.about().providers.contains(&call.provider);
        if !may_leave {
            return Next::Step(step);
        }
        let permits = self.shared.upstream.acquire_account(&call.provider, &run.task.customer, None);
        let Ok((account, permit)) = permits else { return Next::Step(step) };
        let (permit, call) = (as_called(permit, call), call.clone());
        run.account_permit = Some(Arc::new(account));
        run.take(step);
        let attempt = self.calls.begin_attempt(run, call, (permit, None));
        // It was handed over.
        run.task.brief = Bytes::new();
        run.durable.clone_from(&run.task);
        Next::Call(attempt)
    }

    /// Goes on with the step: its task is durable.
    pub(crate) fn go_on(self: &Arc<Self>, first: Box<FirstStep>) {
        let task = first.run.task.id;
        self.live.add_running(task, Arc::clone(&first.version), first.run.account_permit.clone());
        let steps = Arc::clone(self);
        // Boxed: tokio moves a task's future several times.
        tokio::spawn(Box::pin(async move {
            let FirstStep { mut run, version: _, next, in_progress } = *first;
            // Dropped last, so that a shutdown finds the task scheduled again.
            let _in_progress = in_progress;
            let guard = StepGuard::new(&steps.live, &*steps.shared.clock, task);
            steps.live.count_step(task);
            let outcome = match next {
                Next::Call(attempt) => steps.calls.make(&mut run, attempt).await,
                Next::Step(step) => steps.plugin_steps.take_step(&mut run, step).await,
            };
            steps.drive_on(run, outcome).await;
            guard.end();
        }));
    }
}
