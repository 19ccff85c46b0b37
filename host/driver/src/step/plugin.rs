//! The plugin's part of a run: it is told an event, and its answer becomes the task's next phase.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{
    Action, Credits, Event, InterimView, Media, Outcome, Phase, Replay, Step, Task, UnixMs,
};
use gatehouse_runtime::{Fault as PluginFault, ServedBy, Version};

use crate::live::PendingReply;
use crate::live::live_tasks::LiveTasks;
use crate::shared::Shared;
use crate::step::call::phase::Calls;
use crate::step::commit::Commits;
use crate::step::log::step_log::event_word;
use crate::step::run_context::{RunContext, StepOutcome, StepResult};

/// Steps between two waits. More is a plugin that calls, probes or ends for ever.
const MAX_STEPS_PER_RUN: u32 = 256;
/// The least and the most that a task waits for another version, where a canary faults on its step and the standby cannot read
/// its state.
const OTHER_VERSION: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How long a step waits when the plugin threads are all busy.
pub(super) const BUSY_PAUSE: Duration = Duration::from_millis(100);
/// The shortest wait there is: a plugin that always wants to be called now would keep a processor busy.
const MIN_WAIT: Duration = Duration::from_millis(10);
/// Waits of this length and more end at the same moments for all tasks, [`MOMENT`] apart: a thread that is woken for one poll
/// takes those of the same moment along, which is cheaper the more polls there are.
const LONG_WAIT: Duration = Duration::from_millis(500);
const MOMENT: Duration = Duration::from_millis(30);

/// Has plugins take the steps of tasks.
pub(crate) struct PluginSteps {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) commits: Arc<Commits>,
    pub(crate) calls: Arc<Calls>,
}

impl PluginSteps {
    pub(super) async fn run_plugin(&self, run: &mut RunContext, event: Event) -> StepResult {
        self.recall_reply(run, &event);
        let (version, before) = match self.version_for(run).await {
            Ok(found) => found,
            Err(due) => return Ok(self.step_later(run, due.min(self.shared.deadline(&run.task)))),
        };
        // Few versions are on trial: nothing else is asked of the others.
        let may_wait = self.shared.plugins.is_on_trial(&version)
            && before.is_none()
            && !self.shared.plugins.has_fallback(&version);
        if may_wait && self.live.is_faulted_by(run.task.id, version.digest()) {
            // A plugin is pure: it would fault again, and one task must not have a canary rolled back.
            return Ok(self.step_later(run, self.next_try(&run.task)));
        }
        if self.exceeds_step_limit(run) {
            return self
                .commits
                .fail_internally(run, "the model's plugin made no progress on this task")
                .await;
        }
        let (context, word) = (self.shared.context(&run.task, &version), event_word(&event));
        let event = with_brief(event, &run.task);
        let began = self.shared.now();
        match self
            .shared
            .plugins
            .advance_with_fallback(&version, before, context, run.task.state.clone(), event)
            .await
        {
            Ok(ServedBy { by, answer: step }) => {
                run.log.plugin(began..self.shared.now(), by.digest(), word, &step);
                self.adopt_version(run, by);
                self.take_step(run, step).await
            }
            Err(PluginFault::Busy) => Ok(self.step_later(run, self.shared.now().plus(BUSY_PAUSE))),
            Err(fault) => {
                run.log.fault(began..self.shared.now(), version.digest(), word, &fault.to_string());
                let (task, family, digest) = (run.task.id, &run.task.family, version.digest());
                // Another version may take this step: the one that an operator installs or goes back to.
                if may_wait && fault.is_plugin_caused() {
                    tracing::error!(%task, family, %digest, %fault, "plugin fault; the task waits for another version");
                    self.live.mark_faulted(task, Some(digest));
                    return Ok(self.step_later(run, self.next_try(&run.task)));
                }
                tracing::error!(%task, family, %digest, %fault, "plugin fault");
                self.commits.fail_internally(run, "the model's plugin failed on this task").await
            }
        }
    }

    /// The step is taken in a later run. What is known of a durable reply is kept for it; any other reply is asked for again.
    fn step_later(&self, run: &mut RunContext, due: UnixMs) -> StepOutcome {
        if let Some(answered) = run.answered.take().filter(|answered| answered.call.replay != Replay::Safe) {
            let pending = PendingReply { answered, not_before: run.not_before };
            self.live.keep_pending_reply(run.task.id, pending);
        }
        StepOutcome::Until(due)
    }

    /// Takes up what an earlier run has known of the reply that the plugin is about to be told.
    fn recall_reply(&self, run: &mut RunContext, event: &Event) {
        if run.answered.is_none()
            && matches!(event, Event::Reply(_))
            && let Some(PendingReply { answered, not_before }) = self.live.take_pending_reply(run.task.id)
        {
            run.answered = Some(answered);
            run.not_before = run.not_before.or(not_before);
        }
    }

    /// When a task looks for another version again: soon while it is young, and seldom once it has waited for long.
    fn next_try(&self, task: &Task) -> UnixMs {
        let now = self.shared.now();
        let pause = (now.since(task.created) / 8).clamp(OTHER_VERSION.0, OTHER_VERSION.1);
        now.plus(pause).min(self.shared.deadline(task))
    }

    /// Whether the plugin has already taken all the steps it may take.
    fn exceeds_step_limit(&self, run: &mut RunContext) -> bool {
        let total = self.live.count_step(run.task.id);
        run.steps += 1;
        let exceeded = run.steps > MAX_STEPS_PER_RUN || total > self.shared.config.steps;
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
            self.live.mark_faulted(task.id, None);
            self.live.pin(task.id, version);
        }
    }

    /// What the plugin said becomes part of the task, and what it wants next the task's phase.
    pub(super) async fn take_step(&self, run: &mut RunContext, mut step: Step) -> StepResult {
        if let Some(answered) = run.answered.take()
            && let Some(call) = self.calls.heed_account(run, &step, answered)
        {
            // As if the answer had not come: the task keeps the state that its call belongs to.
            run.task.phase = Phase::Call(call);
            return Ok(StepOutcome::Continue);
        }
        let (view, next) = (step.view.take(), run.take(step));
        let Some(view) = view else { return self.act(run, next).await };
        let task = &mut run.task;
        if !view.products.is_empty() {
            task.phase = Phase::Publish { view, next: Box::new(next) };
            return self.commits.commit_then(run, StepOutcome::Continue).await;
        }
        show(task, view, Vec::new());
        self.act_after_view(run, next).await
    }

    /// What a plugin wants next becomes the task's phase.
    async fn act(&self, run: &mut RunContext, next: Action) -> StepResult {
        // Neither stopped nor still trying: it goes on.
        run.task.stop_asked &= matches!(next, Action::Call(_) | Action::Fail(_));
        match next {
            Action::Call(call) => {
                run.task.phase = Phase::Call(call);
                Ok(StepOutcome::Continue)
            }
            Action::Probe(probes) => {
                run.task.phase = Phase::Probe(probes);
                Ok(StepOutcome::Continue)
            }
            Action::Wait(until) => {
                let due = until.max(run.not_before.unwrap_or(until)).max(self.shared.now().plus(MIN_WAIT));
                let due = self.with_jitter(due).min(self.shared.deadline(&run.task));
                run.log.wait(self.shared.now(), due, "plugin");
                run.task.phase = Phase::Wait(due);
                self.commits.commit_then(run, StepOutcome::Until(due)).await
            }
            Action::Done(outcome) => {
                if cost(&run.task, &outcome).is_none() {
                    self.report_excess(run, &outcome).await;
                }
                run.task.phase = Phase::Save(outcome);
                self.commits.commit_then(run, StepOutcome::Continue).await
            }
            Action::Fail(ending) if ending.products.is_empty() => {
                self.commits.fail(run, ending, Vec::new()).await
            }
            Action::Fail(ending) => {
                run.task.phase = Phase::SaveFailed(ending);
                self.commits.commit_then(run, StepOutcome::Continue).await
            }
        }
    }

    /// A plugin that bills more than was held is at fault, as one that traps: a canary is rolled back for it.
    async fn report_excess(&self, run: &RunContext, outcome: &Outcome) {
        let task = &run.task;
        tracing::error!(task = %task.id, family = task.family, settle = ?outcome.settle, held = %task.held, "a plugin asked to bill more than was held");
        if let Ok(version) = self.shared.plugins.version(&task.digest).await {
            let why = format!("expected at most what was held, {}", task.held);
            self.shared.plugins.record_fault(&version, &PluginFault::BadOutput { what: "settle", why });
        }
    }

    /// The same for a step whose view is in the task: clients see it before the next action begins.
    pub(super) async fn act_after_view(&self, run: &mut RunContext, next: Action) -> StepResult {
        let outcome = self.act(run, next).await?;
        match outcome {
            StepOutcome::Continue => self.commits.commit_then(run, StepOutcome::Continue).await,
            other => Ok(other),
        }
    }

    /// Up to a quarter of the wait more, so that tasks accepted together do not all poll together; and a long wait up to the
    /// next moment.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration in milliseconds"
    )]
    fn with_jitter(&self, due: UnixMs) -> UnixMs {
        let wait = due.since(self.shared.now());
        let due = due
            .plus(Duration::from_millis((wait.as_millis() as f64 * 0.25 * self.shared.seed.unit()) as u64));
        if wait < LONG_WAIT { due } else { UnixMs(due.0.next_multiple_of(MOMENT.as_millis() as u64)) }
    }
}

/// The event as the plugin gets it: briefs are kept with the task, not with the event.
fn with_brief(event: Event, task: &Task) -> Event {
    match event {
        Event::Start(_) => Event::Start(task.brief.clone()),
        Event::Joined(_) => Event::Joined(task.brief.clone()),
        other => other,
    }
}

/// Replaces what clients and follow-ups see of the task.
pub(super) fn show(task: &mut Task, view: InterimView, media: Vec<Media>) {
    task.public = view.public.as_bytes().to_vec();
    task.private = view.private.as_bytes().to_vec();
    task.media = media;
}

/// The charge or what the outcome settles for, at the prices frozen at submit, and what requests that joined have added; `None`
/// when that is more than was held.
pub(super) fn cost(task: &Task, outcome: &Outcome) -> Option<Credits> {
    let terms = task.terms();
    let own = outcome.settle.as_ref().map_or_else(|| terms.cost(), |settle| terms.settled(settle))?;
    own.checked_add(task.joined_held).filter(|cost| *cost <= task.held)
}
