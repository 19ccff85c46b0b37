//! One run of a due task: phase after phase until it has to wait or has ended.

use std::sync::Arc;

use gatehouse_model::{Event, Phase, Span, SpanKind, Task, TaskId};
use gatehouse_tasks::Ending;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::live::live_tasks::LiveTasks;
use crate::shared::Shared;
use crate::step::call::phase::Calls;
use crate::step::commit::Commits;
use crate::step::log::step_log::StepLog;
use crate::step::media::Copies;
use crate::step::plugin::{BUSY_PAUSE, PluginSteps};
use crate::step::run_context::{RunContext, StepOutcome, StepResult};
use crate::step::time_out::TimeOuts;
use crate::store_pause::StorePause;

/// Runs due tasks.
pub(crate) struct Steps {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    /// Of steps whose task could not be read.
    pub(crate) store_pause: StorePause,
    /// One for each step that may run at the same time.
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) commits: Arc<Commits>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) plugin_steps: Arc<PluginSteps>,
    pub(crate) time_outs: Arc<TimeOuts>,
    pub(crate) copies: Copies,
}

impl Steps {
    /// Runs a due task and schedules it again, or forgets it once it has ended.
    pub(crate) async fn drive(&self, id: TaskId, permit: OwnedSemaphorePermit) {
        let outcome = self.run_task(id, permit).await;
        self.reschedule(id, outcome);
    }

    /// Goes on with a run that has begun otherwise: `outcome` is what follows its first phase.
    pub(super) async fn drive_on(&self, run: Box<RunContext>, outcome: StepResult) {
        let id = run.task.id;
        let outcome = match outcome {
            Ok(outcome) => self.run_phases(run, outcome).await,
            Err(error) => Err(error),
        };
        self.reschedule(id, outcome);
    }

    fn reschedule(&self, id: TaskId, outcome: StepResult) {
        match outcome {
            Ok(StepOutcome::Ended) => self.live.end(id),
            Ok(StepOutcome::Until(due)) => self.live.rearm(id, due, self.shared.now()),
            Ok(StepOutcome::Continue) => self.live.rearm(id, self.shared.now(), self.shared.now()),
            // What the run has not made durable, it may do again. The store's writer tells the log.
            Err(error) if error.passes() => {
                let now = self.shared.now();
                self.live.rearm(id, now.plus(self.store_pause.failed(now, self.shared.seed.unit())), now);
            }
            // The process stops with its store; the next start finds the task as it was.
            Err(error) => tracing::error!(task = %id, %error, "step stopped"),
        }
    }

    async fn run_task(&self, id: TaskId, permit: OwnedSemaphorePermit) -> StepResult {
        let task = self.shared.store.task(id).await?.filter(|task| !task.status.is_final());
        self.store_pause.passed();
        let Some(task) = task else { return Ok(StepOutcome::Ended) };
        if self.is_crowded(&task) {
            return Ok(StepOutcome::Until(self.shared.now().plus(BUSY_PAUSE)));
        }
        let mut run = RunContext::new(task, self.live.account_permit(id));
        run.step_permit = Some(permit);
        run.log = StepLog::after(self.live.take_quiet(id));
        run.log.span = self.step_span(&run.task);
        self.live.note_ambiguous(id, run.task.phase.ambiguous_call().is_some());
        self.run_phases(run, StepOutcome::Continue).await
    }

    /// Phase after phase, after one that came to `outcome`.
    async fn run_phases(&self, mut run: Box<RunContext>, mut outcome: StepOutcome) -> StepResult {
        while matches!(outcome, StepOutcome::Continue) {
            outcome = match self.run_phase(&mut run).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.live.keep_quiet(run.task.id, run.log.into_quiet());
                    return Err(error);
                }
            };
        }
        self.commits.drop_uncommitted(&run);
        self.live.keep_quiet(run.task.id, run.log.into_quiet());
        Ok(outcome)
    }

    /// Whether half of all steps already wait for the plugin of this task's family. The task then comes again
    /// later: a slow family may not hold the steps of all others.
    pub(super) fn is_crowded(&self, task: &Task) -> bool {
        let must_end = task.failure.is_some() || self.shared.is_overdue(task);
        !must_end && self.shared.plugins.waiting(&task.family) > self.shared.config.concurrency / 2
    }

    async fn run_phase(&self, run: &mut RunContext) -> StepResult {
        if let Some(failure) = run.task.failure.clone() {
            return self.commits.finish(run, Ending::failed(failure), None).await;
        }
        let now = self.shared.now();
        if self.shared.is_overdue(&run.task) {
            match self.time_outs.later_deadline(run).await? {
                Some(deadline) => run.task.deadline = deadline,
                None => return self.time_outs.time_out(run).await,
            }
        }
        if !run.durable.joined.is_empty() && matches!(run.task.phase, Phase::Wait(_) | Phase::Save(_)) {
            return self.commits.deliver_joined(run).await;
        }
        // Taken out, and put back where it is kept: replies may be large.
        match std::mem::replace(&mut run.task.phase, Phase::Over) {
            Phase::Run(event) => self.plugin_steps.run_plugin(run, event).await,
            Phase::Call(call) => self.calls.call(run, call).await,
            Phase::Sent { call, at } => self.calls.resolve_ambiguous(run, call, at).await,
            Phase::Ambiguous { .. } => Ok(self.calls.await_ruling(run)),
            Phase::Probe(probes) => self.copies.probe(run, probes).await,
            Phase::Wait(until) if now >= until => {
                run.task.phase = Phase::Run(Event::Timer);
                Ok(StepOutcome::Continue)
            }
            Phase::Wait(until) => Ok(StepOutcome::Until(until.min(self.shared.deadline(&run.task)))),
            Phase::Publish { view, next } => self.copies.publish(run, view, *next).await,
            Phase::Save(outcome) => self.copies.save(run, outcome).await,
            Phase::SaveFailed(ending) => self.copies.save_failed(run, ending).await,
            Phase::Over => Ok(StepOutcome::Ended),
        }
    }

    /// A span for a run of a task, if that is traced: its trace is in its row, so that it goes on after a restart.
    pub(super) fn step_span(&self, task: &Task) -> Option<Span> {
        let (tracer, place) = (self.shared.tracer.as_ref()?, task.trace.as_ref()?);
        let mut span = tracer.resume(place.clone()).begin("step", SpanKind::Internal);
        span.set("gatehouse.task", task.id.to_string().as_str());
        span.set("gen_ai.request.model", task.model.as_str());
        Some(span)
    }
}
