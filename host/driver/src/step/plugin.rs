//! The plugin's part of a run: it is told an event, and its answer becomes the task's next phase.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Action, Context, Event, Phase, Status, Step, Task, UnixMs};
use gatehouse_runtime::{Fault as PluginFault, ServedBy, Version};
use gatehouse_store::StoreError;
use gatehouse_tasks::Ending;

use crate::state::DriverState;
use crate::step::run::BUSY_PAUSE;
use crate::step::run_context::{RunContext, StepOutcome};

/// Steps between two waits. More is a plugin that calls, probes or ends for ever.
const MAX_STEPS_PER_RUN: u32 = 256;
/// The shortest wait there is: a plugin that always wants to be called now would keep a processor busy.
const MIN_WAIT: Duration = Duration::from_millis(10);

impl DriverState {
    pub(super) async fn run_plugin(
        &self,
        run: &mut RunContext,
        event: Event,
    ) -> Result<StepOutcome, StoreError> {
        let (version, before) = match self.version_for(run).await {
            Ok(found) => found,
            Err(due) => return Ok(StepOutcome::Until(due.min(run.task.deadline))),
        };
        if self.exceeds_step_limit(run) {
            return self.fail_internally(run, "the model's plugin made no progress on this task").await;
        }
        let context = self.context(&run.task, &version);
        match self
            .plugins
            .advance_with_fallback(&version, before, context, run.task.state.clone(), event)
            .await
        {
            Ok(ServedBy { by, answer: step }) => {
                self.adopt_version(run, by);
                self.take_step(run, step).await
            }
            Err(PluginFault::Busy) => Ok(StepOutcome::Until(self.now().plus(BUSY_PAUSE))),
            Err(fault) => {
                tracing::error!(task = %run.task.id, family = run.task.family, %fault, "plugin fault");
                self.fail_internally(run, "the model's plugin failed on this task").await
            }
        }
    }

    /// Whether the plugin has already taken all the steps it may take.
    fn exceeds_step_limit(&self, run: &mut RunContext) -> bool {
        let total = self.live.count_step(run.task.id);
        run.steps += 1;
        let exceeded = run.steps > MAX_STEPS_PER_RUN || total > self.config.steps;
        if exceeded {
            let (task, family, in_this_run) = (run.task.id, &run.task.family, run.steps);
            tracing::error!(%task, family, in_this_run, total, "the plugin exceeds its step limit without an end");
        }
        exceeded
    }

    /// The state that a step returns belongs to the version that took the step.
    fn adopt_version(&self, run: &mut RunContext, version: Arc<Version>) {
        let task = &mut run.task;
        if task.digest != version.digest() {
            task.digest = version.digest();
            task.state_version = version.about().state_version;
            self.live.pin(task.id, version);
        }
    }

    pub(super) fn context(&self, task: &Task, version: &Version) -> Context {
        Context {
            now: self.now(),
            seed: task.seed,
            task: Some(task.id),
            accepted_at: task.created,
            deadline: task.deadline,
            settings: self.plugins.settings(version.family()),
        }
    }

    async fn take_step(&self, run: &mut RunContext, step: Step) -> Result<StepOutcome, StoreError> {
        let task = &mut run.task;
        task.state = step.state;
        task.status = task.status.max(Status::from(step.stage));
        task.progress = task.progress.max(step.progress);
        match step.next {
            Action::Call(call) => {
                task.phase = Phase::Call(call);
                Ok(StepOutcome::Continue)
            }
            Action::Probe(probes) => {
                task.phase = Phase::Probe(probes);
                Ok(StepOutcome::Continue)
            }
            Action::Wait(until) => {
                let due = until.max(run.not_before.unwrap_or(until)).max(self.now().plus(MIN_WAIT));
                let due = self.with_jitter(due).min(task.deadline);
                task.phase = Phase::Wait(due);
                self.commit_then(run, StepOutcome::Until(due)).await
            }
            Action::Done(outcome) => {
                task.phase = Phase::Save(outcome);
                self.commit_then(run, StepOutcome::Continue).await
            }
            Action::Fail(failure) => self.finish(run, Ending::Failed(failure.into()), None).await,
        }
    }

    /// Up to a quarter of the wait more, so that tasks accepted together do not poll together.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration in milliseconds"
    )]
    fn with_jitter(&self, due: UnixMs) -> UnixMs {
        let wait = due.since(self.now()).as_millis() as f64;
        due.plus(Duration::from_millis((wait * 0.25 * self.seed.unit()) as u64))
    }
}
