//! Makes what a run decided durable: one compare-and-set per commit, and the one way a task ends.
//!
//! Nothing else in this crate changes a task. A step waits in the writer's queue: giving up there would lose a
//! reply already in hand. A command that comes back stale lost a race for the task; the run then starts over from
//! the store.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{FailedOutcome, FailureKind, Media, Phase, Task, TaskFailure, UnixMs, metric};
use gatehouse_store::{Durability, StoreError};
use gatehouse_tasks::{Applied, Change, Command, Ending, Rejection, ResultRecord};

use crate::money;
use crate::shared::Shared;
use crate::step::run_context::{RunContext, StepOutcome, StepResult};

/// A wait shorter than this is durable before it begins.
const SHORT_WAIT: Duration = Duration::from_millis(500);
/// How long a task rests after the store rejected a change that should be valid.
const REJECTED_PAUSE: Duration = Duration::from_secs(5);

/// Makes what runs decided durable.
pub(crate) struct Commits {
    pub(crate) shared: Arc<Shared>,
}

impl Commits {
    /// Makes the run's task durable. `None` when it is; otherwise what follows instead.
    pub(super) async fn commit(
        &self,
        run: &mut RunContext,
        audit: Option<String>,
    ) -> Result<Option<StepOutcome>, StoreError> {
        if audit.is_none() && is_same(run) {
            return Ok(None);
        }
        let durability = durability(run, audit.is_some(), self.shared.now());
        let command = Command::Advance {
            id: run.task.id,
            revision: run.durable.revision,
            change: Box::new(change(run, audit)),
            at: self.shared.now(),
        };
        let command = run.log.logged(command, self.shared.now());
        match self.shared.store.execute_when_free(command, durability).await? {
            Ok(Applied::Task(durable)) => {
                // What has joined meanwhile is the record's to say.
                let task = &mut run.task;
                task.revision = durable.revision;
                (task.held, task.joined_held) = (durable.held, durable.joined_held);
                task.brief.clone_from(&durable.brief);
                run.durable = *durable;
                Ok(None)
            }
            other => Ok(Some(self.lost_race(run, &other))),
        }
    }

    /// Makes the run's task durable; then `outcome` follows.
    pub(super) async fn commit_then(&self, run: &mut RunContext, outcome: StepOutcome) -> StepResult {
        self.commit(run, None).await.map(|instead| instead.unwrap_or(outcome))
    }

    /// Delivers the oldest request that joined the task: it becomes the plugin's next event.
    pub(super) async fn deliver_joined(&self, run: &mut RunContext) -> StepResult {
        let command = Command::Advance {
            id: run.task.id,
            revision: run.durable.revision,
            change: Box::new(Change { deliver: true, ..change(run, None) }),
            at: self.shared.now(),
        };
        let command = run.log.logged(command, self.shared.now());
        match self.shared.store.execute_when_free(command, Durability::Immediate).await? {
            Ok(Applied::Task(durable)) => {
                run.task.clone_from(&durable);
                run.durable = *durable;
                Ok(StepOutcome::Continue)
            }
            other => Ok(self.lost_race(run, &other)),
        }
    }

    /// Ends the task: its hold is settled or released in the same transaction.
    pub(super) async fn finish(
        &self,
        run: &mut RunContext,
        ending: Ending,
        audit: Option<String>,
    ) -> StepResult {
        let task = &run.task;
        let command = Command::Finish {
            id: task.id,
            revision: run.durable.revision,
            ending,
            audit,
            at: self.shared.now(),
        };
        let command = run.log.logged(command, self.shared.now());
        match self.shared.store.execute_when_free(command, Durability::Immediate).await? {
            Ok(applied) => {
                // What has joined since is in the record alone, and so are the blobs of what was not delivered.
                let ended = if let Applied::Task(ended) = &applied { ended } else { task };
                note_end(ended);
                self.shared.media.drop_blobs(&ended.blobs).await;
                Ok(StepOutcome::Ended)
            }
            Err(Rejection::NameTaken(name)) => {
                tracing::error!(task = %task.id, family = task.family, name, "a plugin claims a name of another customer");
                let message = "the model's plugin failed on this task".to_owned();
                let failure = TaskFailure { kind: FailureKind::Internal, message };
                Box::pin(self.finish(run, Ending::failed(failure), None)).await
            }
            other => Ok(self.lost_race(run, &other)),
        }
    }

    /// Ends the task badly, with the copies of its products. The progress of the last step goes with the end.
    pub(super) async fn fail(
        &self,
        run: &mut RunContext,
        ending: FailedOutcome,
        media: Vec<Media>,
    ) -> StepResult {
        let FailedOutcome { failure, public, private, claims, products: _ } = ending;
        let task = &run.task;
        let result = (public.is_some() || private.is_some()).then(|| ResultRecord {
            media: if public.is_some() { media } else { task.media.clone() },
            public: public.map_or_else(|| task.public.clone(), |json| json.as_bytes().to_vec()),
            private: private.map_or_else(|| task.private.clone(), |json| json.as_bytes().to_vec()),
        });
        let (mut failure, progress) = (TaskFailure::from(failure), task.progress);
        if task.stop_asked {
            failure.kind = FailureKind::Cancelled;
        }
        self.finish(run, Ending::Failed { failure, progress, result, claims }, None).await
    }

    /// Fails the task for a fault of the gateway or of its plugin.
    pub(super) async fn fail_internally(&self, run: &mut RunContext, message: &str) -> StepResult {
        let failure = TaskFailure { kind: FailureKind::Internal, message: message.to_owned() };
        self.finish(run, Ending::failed(failure), None).await
    }

    /// Deletes the files that a run which is over has kept for its task, and that no commit has made the task's: nothing else
    /// knows them, and the next run keeps its own.
    ///
    /// No row or result refers to one of them. They were made in this run, so only a commit of this run can bring them into a
    /// row, and every commit was answered: after one that was done, `durable` has them; one that was refused, since the task had
    /// moved or ended meanwhile, has changed nothing. The end of a task adds none, and results are copies. Where a run ends with
    /// an error of the store, it is not known what became durable: then this is not called, and the sweep takes what is left.
    pub(super) fn drop_uncommitted(&self, run: &RunContext) {
        let durable = &run.durable.blobs;
        let lost = run.task.blobs.iter().filter(|blob| !durable.contains(blob)).copied();
        let lost: Vec<_> = lost.collect();
        if lost.is_empty() {
            return;
        }
        let media = self.shared.media.clone();
        // Beside the run: a bucket that is away takes a minute, and clients wait for the task's end.
        tokio::spawn(async move { media.drop_blobs(&lost).await });
    }

    fn lost_race(&self, run: &RunContext, answer: &Result<Applied, Rejection>) -> StepOutcome {
        match answer {
            Err(Rejection::Final(_) | Rejection::NoTask(_)) => StepOutcome::Ended,
            // A request joined before the end: the next run delivers it.
            Err(Rejection::Stale { .. } | Rejection::JoinsPending(_)) => {
                StepOutcome::Until(self.shared.now())
            }
            other => {
                // The driver broke a rule of `tasks`: loud, and not in a tight loop.
                tracing::error!(task = %run.task.id, ?other, "the store rejected a change");
                StepOutcome::Until(self.shared.now().plus(REJECTED_PAUSE))
            }
        }
    }
}

/// Tells of a task that ended, however it did.
pub(crate) fn note_end(task: &Task) {
    let (status, failure) = (task.status.as_str(), task.failure.as_ref());
    let reason = failure.map_or("", |failure| failure.message.as_str());
    tracing::info!(task = %task.id, model = task.model, status, reason, "task ended");
    metrics::counter!(metric::TASKS_ENDED, "model" => task.model.clone(), "outcome" => status).increment(1);
    money::task_ended(task);
}

/// A wait can be lost: what led to it is on record, or is a safe call that is made again. A wait that ends soon is
/// made durable, since the next run reads it.
fn durability(run: &RunContext, has_audit: bool, now: UnixMs) -> Durability {
    match run.task.phase {
        Phase::Wait(due) if !has_audit && due.since(now) >= SHORT_WAIT => Durability::Deferred,
        _ => Durability::Immediate,
    }
}

/// Whether a restart would miss nothing: all is equal except the moment of the next wake-up.
fn is_same(run: &RunContext) -> bool {
    let (new, old) = (&run.task, &run.durable);
    let both_wait = matches!((&new.phase, &old.phase), (Phase::Wait(_), Phase::Wait(_)));
    (both_wait || new.phase == old.phase)
        && new.status == old.status
        && new.progress == old.progress
        && new.state == old.state
        && new.digest == old.digest
        && new.assignment == old.assignment
        && new.blobs == old.blobs
        && new.stop_asked == old.stop_asked
        && new.sent_again == old.sent_again
        && is_same_view(new, old)
}

fn is_same_view(new: &Task, old: &Task) -> bool {
    new.public == old.public && new.private == old.private && new.media == old.media
}

fn change(run: &RunContext, audit: Option<String>) -> Change {
    let (new, old) = (&run.task, &run.durable);
    Change {
        status: new.status,
        progress: new.progress,
        phase: new.phase.clone(),
        state: (new.state != old.state || new.state_version != old.state_version)
            .then(|| (new.state_version, new.state.clone())),
        digest: (new.digest != old.digest).then_some(new.digest),
        assignment: (new.assignment != old.assignment).then(|| new.assignment.clone()).flatten(),
        blobs: (new.blobs != old.blobs).then(|| new.blobs.clone()),
        view: (!is_same_view(new, old)).then(|| ResultRecord {
            public: new.public.clone(),
            private: new.private.clone(),
            media: new.media.clone(),
        }),
        deliver: false,
        stop_asked: new.stop_asked,
        sent_again: new.sent_again,
        audit,
    }
}
