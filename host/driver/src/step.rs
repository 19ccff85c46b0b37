//! One visit to a due task: turn after turn until it has to wait or has ended.
//!
//! ```text
//! load -> [ overdue? doomed? -> finish ]
//!      -> Run(event)  plugin decides: call | probe | wait | done | fail
//!      -> Call        place, gate, commit Sent (unless safe), bytes leave, commit the reply (unless safe)
//!      -> Probe       facts for the plugin
//!      -> Save        copies, then finish
//! ```
//! What a crash may not lose is committed before the next thing happens; what can be derived again (a
//! safe call, a probe, a wait) is not. Every commit names the revision it is based on, so a visit
//! that lost a race (a cancel, a deadline) changes nothing and starts over.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{
    AccountAssignment, Action, Context, Event, FailureKind, Phase, Status, Step, Task, TaskFailure, TaskId,
    UnixMs,
};
use gatehouse_runtime::{Fault as PluginFault, Missing, Route, ServedBy, StateBefore, Version};
use gatehouse_store::StoreError;
use gatehouse_tasks::{Ending, is_overdue, timed_out};
use gatehouse_upstream::Place;
use tokio::sync::OwnedSemaphorePermit;

use crate::driver::Inner;

/// How long a step waits when the plugin threads are all busy.
const BUSY_PAUSE: Duration = Duration::from_millis(100);
/// Steps between two waits. More is a plugin that calls, probes or ends for ever.
const MOST_STEPS: u32 = 256;
/// The shortest wait there is: a plugin that always wants to be woken now would keep a processor busy.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);
/// How long a task whose plugin version is missing waits before it is looked for again.
const MISSING_PAUSE: Duration = Duration::from_secs(30);

/// A task under way: as the store has it, and as it is becoming.
pub(crate) struct Visit {
    pub(crate) durable: Task,
    pub(crate) task: Task,
    pub(crate) place: Option<Arc<Place>>,
    /// A provider asked not to be called before this moment.
    pub(crate) not_before: Option<UnixMs>,
    /// Given back before waiting on the network, where other limits hold.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// Steps its plugin has taken in this visit.
    pub(crate) steps: u32,
}

/// What follows a turn.
pub(crate) enum Turn {
    /// The next turn.
    On,
    /// Come back at this moment.
    Until(UnixMs),
    /// The task has ended.
    Over,
}

impl Inner {
    /// Visits a due task and arms it again, or forgets it once it has ended.
    pub(crate) async fn drive(&self, id: TaskId, permit: OwnedSemaphorePermit) {
        match self.visit(id, permit).await {
            Ok(Turn::Over) => self.live.end(id, self.now()),
            Ok(Turn::Until(due)) => self.live.rearm(id, due, self.now()),
            Ok(Turn::On) => self.live.rearm(id, self.now(), self.now()),
            // The store is gone and with it the process; the next start finds the task as it was.
            Err(error) => tracing::error!(task = %id, %error, "step stopped"),
        }
    }

    async fn visit(&self, id: TaskId, permit: OwnedSemaphorePermit) -> Result<Turn, StoreError> {
        let Some(task) = self.store.task(id)?.filter(|task| !task.status.is_final()) else {
            return Ok(Turn::Over);
        };
        if self.is_crowded(&task) {
            return Ok(Turn::Until(self.now().plus(BUSY_PAUSE)));
        }
        let place = self.live.place(id);
        let mut visit =
            Visit { durable: task.clone(), task, place, not_before: None, permit: Some(permit), steps: 0 };
        loop {
            match self.turn(&mut visit).await? {
                Turn::On => {}
                rest => return Ok(rest),
            }
        }
    }

    /// Whether half of all steps wait for the plugin of this task's family already. It then comes again later:
    /// a family that is slow may not hold the steps of all others.
    fn is_crowded(&self, task: &Task) -> bool {
        let must_end = task.failure.is_some() || is_overdue(task, self.now());
        !must_end && self.families.waiting(&task.family) > self.config.concurrency / 2
    }

    async fn turn(&self, visit: &mut Visit) -> Result<Turn, StoreError> {
        if let Some(fault) = visit.task.failure.clone() {
            return self.finish(visit, Ending::Failed(fault), None).await;
        }
        let now = self.now();
        if is_overdue(&visit.task, now) {
            return self.time_out(visit).await;
        }
        // Taken out and put back by whoever keeps it: replies may be large.
        match std::mem::replace(&mut visit.task.phase, Phase::Over) {
            Phase::Run(event) => self.run_plugin(visit, event).await,
            Phase::Call(call) => self.call(visit, call).await,
            Phase::Sent { call, at } => self.resolve_ambiguous(visit, call, at).await,
            Phase::Probe(probes) => self.probe(visit, probes).await,
            Phase::Wait(until) if now >= until => {
                visit.task.phase = Phase::Run(Event::Timer);
                Ok(Turn::On)
            }
            Phase::Wait(until) => Ok(Turn::Until(until.min(visit.task.deadline))),
            Phase::Save(outcome) => self.save(visit, outcome).await,
            Phase::Over => Ok(Turn::Over),
        }
    }

    /// Ends it for its customer, who gets everything back; what its provider still makes of it is on record once,
    /// as the operator's cost.
    pub(crate) async fn time_out(&self, visit: &mut Visit) -> Result<Turn, StoreError> {
        let audit = visit.durable.assignment.as_ref().map(|AccountAssignment { provider, account }| {
            format!("out of time: what {provider}/{account} may still make of it is the operator's cost")
        });
        self.finish(visit, Ending::Failed(timed_out()), audit).await
    }

    async fn run_plugin(&self, visit: &mut Visit, event: Event) -> Result<Turn, StoreError> {
        let (version, written) = match self.version_for(visit).await {
            Ok(found) => found,
            Err(due) => return Ok(Turn::Until(due.min(visit.task.deadline))),
        };
        if self.is_restless(visit) {
            return self.fail_internally(visit, "the model's plugin made no progress on this task").await;
        }
        let context = self.context(&visit.task, &version);
        match self.families.step(&version, written, context, visit.task.state.clone(), event).await {
            Ok(ServedBy { by, answer: step }) => {
                self.belongs_to(visit, by);
                self.take_step(visit, step).await
            }
            Err(PluginFault::Busy) => Ok(Turn::Until(self.now().plus(BUSY_PAUSE))),
            Err(fault) => {
                tracing::error!(task = %visit.task.id, family = visit.task.family, %fault, "plugin fault");
                self.fail_internally(visit, "the model's plugin failed on this task").await
            }
        }
    }

    /// Whether the plugin has had all the steps it may take, this one not counted.
    fn is_restless(&self, visit: &mut Visit) -> bool {
        let altogether = self.live.count_step(visit.task.id);
        visit.steps += 1;
        let restless = visit.steps > MOST_STEPS || altogether > self.config.steps;
        if restless {
            let (task, family, at_once) = (visit.task.id, &visit.task.family, visit.steps);
            tracing::error!(%task, family, at_once, altogether, "the plugin takes step after step and comes to no end");
        }
        restless
    }

    /// The state a step returns is of the version that took it.
    fn belongs_to(&self, visit: &mut Visit, version: Arc<Version>) {
        let task = &mut visit.task;
        if task.digest != version.digest() {
            task.digest = version.digest();
            task.state_version = version.about().state_version;
            self.live.pin(task.id, version);
        }
    }

    pub(crate) fn context(&self, task: &Task, version: &Version) -> Context {
        Context {
            now: self.now(),
            seed: task.seed,
            task: Some(task.id),
            accepted_at: task.created,
            deadline: task.deadline,
            settings: self.families.settings(version.family()),
        }
    }

    async fn take_step(&self, visit: &mut Visit, step: Step) -> Result<Turn, StoreError> {
        let task = &mut visit.task;
        task.state = step.state;
        task.status = task.status.max(Status::from(step.stage));
        task.progress = task.progress.max(step.progress);
        match step.next {
            Action::Call(call) => {
                task.phase = Phase::Call(call);
                Ok(Turn::On)
            }
            Action::Probe(probes) => {
                task.phase = Phase::Probe(probes);
                Ok(Turn::On)
            }
            Action::Wait(until) => {
                let due = until.max(visit.not_before.unwrap_or(until)).max(self.now().plus(SHORTEST_WAIT));
                let due = self.with_jitter(due).min(task.deadline);
                task.phase = Phase::Wait(due);
                self.commit(visit, None).await.map(|turn| turn.unwrap_or(Turn::Until(due)))
            }
            Action::Done(outcome) => {
                task.phase = Phase::Save(outcome);
                self.commit(visit, None).await.map(|turn| turn.unwrap_or(Turn::On))
            }
            Action::Fail(failure) => self.finish(visit, Ending::Failed(failure.into()), None).await,
        }
    }

    /// Up to a quarter of the wait more, so that tasks accepted together do not poll together.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a span of milliseconds"
    )]
    fn with_jitter(&self, due: UnixMs) -> UnixMs {
        let wait = due.since(self.now()).as_millis() as f64;
        due.plus(Duration::from_millis((wait * 0.25 * self.seed.unit()) as u64))
    }

    /// The version this task's state belongs to; migrates the state where the active one reads it, and then
    /// also says how it was before. While there is no version the task waits until the moment in the error,
    /// visibly, and never fails silently.
    async fn version_for(&self, visit: &mut Visit) -> Result<(Arc<Version>, Option<StateBefore>), UnixMs> {
        let task = &visit.task;
        match self.families.route(&task.family, &task.digest, task.state_version) {
            Ok(Route::Run(version)) => Ok((version, None)),
            Ok(Route::Migrate(active)) if !self.live.is_unread_by(task.id, active.digest()) => {
                self.migrate(visit, active).await
            }
            Ok(Route::Migrate(_)) => self.pinned(task),
            Err(missing) => Err(self.without_version(task, &missing)),
        }
    }

    /// Rewrites the state for the active version, or stays with the pinned one where that fails.
    async fn migrate(
        &self,
        visit: &mut Visit,
        active: Arc<Version>,
    ) -> Result<(Arc<Version>, Option<StateBefore>), UnixMs> {
        let task = &mut visit.task;
        let writer = self.families.version(&task.digest);
        let migrated = self.families.migrate(&active, task.state_version, task.state.clone()).await;
        let reason = match migrated {
            Ok(Ok(state)) => {
                let written = std::mem::replace(&mut task.state, state);
                task.state_version = active.about().state_version;
                task.digest = active.digest();
                self.live.pin(task.id, Arc::clone(&active));
                return Ok((active, writer.ok().map(|by| StateBefore { by, state: written })));
            }
            Ok(Err(reason)) => reason,
            Err(PluginFault::Busy) => return Err(self.now().plus(BUSY_PAUSE)),
            Err(fault) => fault.to_string(),
        };
        // Asked once: at every step again, a build that fails slowly would slow the task's own build down.
        self.live.mark_unread(task.id, active.digest());
        tracing::warn!(task = %task.id, family = task.family, reason, "state not migrated, staying on the pinned version");
        self.pinned(task)
    }

    fn pinned(&self, task: &Task) -> Result<(Arc<Version>, Option<StateBefore>), UnixMs> {
        let pinned = self.families.version(&task.digest);
        pinned.map(|version| (version, None)).map_err(|missing| self.without_version(task, &missing))
    }

    fn without_version(&self, task: &Task, missing: &Missing) -> UnixMs {
        tracing::error!(task = %task.id, family = task.family, digest = %task.digest, %missing, "task waits for its plugin version");
        self.now().plus(MISSING_PAUSE)
    }

    pub(crate) async fn fail_internally(&self, visit: &mut Visit, message: &str) -> Result<Turn, StoreError> {
        let fault = TaskFailure { kind: FailureKind::Internal, message: message.to_owned() };
        self.finish(visit, Ending::Failed(fault), None).await
    }
}
