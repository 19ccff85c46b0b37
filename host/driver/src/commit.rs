//! Writing down what a visit decided: one compare-and-set a turn, and the one way a task ends.
//!
//! Nothing else in this room changes a task, and a step waits for its turn at the writer: giving up there would
//! lose a reply already in hand. A command that comes back stale means somebody else moved
//! the task; the visit then starts over from the store.

use std::time::Duration;

use gatehouse_model::{Phase, Status, UnixMs, metric};
use gatehouse_store::{Durability, StoreError};
use gatehouse_tasks::{Applied, Change, Command, Ending, Rejection};

use crate::driver::Inner;
use crate::step::{Turn, Visit};

/// A wait shorter than this is durable before it begins.
const SOON: Duration = Duration::from_millis(500);

impl Inner {
    /// Makes the visit's task durable. `None` when it is; otherwise what follows instead.
    pub(crate) async fn commit(
        &self,
        visit: &mut Visit,
        audit: Option<String>,
    ) -> Result<Option<Turn>, StoreError> {
        if audit.is_none() && is_same(visit) {
            return Ok(None);
        }
        let durability = durability(visit, audit.is_some(), self.now());
        let command = Command::Advance {
            id: visit.task.id,
            revision: visit.durable.revision,
            change: Box::new(change(visit, audit)),
            at: self.now(),
        };
        match self.store.execute_when_free(command, durability).await? {
            Ok(Applied::Task(durable)) => {
                visit.task.revision = durable.revision;
                visit.durable = *durable;
                Ok(None)
            }
            other => Ok(Some(self.lost_race(visit, &other))),
        }
    }

    /// Ends the task: its hold is settled or released in the same transaction.
    pub(crate) async fn finish(
        &self,
        visit: &mut Visit,
        ending: Ending,
        audit: Option<String>,
    ) -> Result<Turn, StoreError> {
        let task = &visit.task;
        let outcome = match &ending {
            Ending::Completed { .. } => Status::Completed,
            Ending::Failed(_) => Status::Failed,
        };
        let reason = match &ending {
            Ending::Completed { .. } => String::new(),
            Ending::Failed(fault) => fault.message.clone(),
        };
        let command =
            Command::Finish { id: task.id, revision: visit.durable.revision, ending, audit, at: self.now() };
        match self.store.execute_when_free(command, Durability::Immediate).await? {
            Ok(_) => {
                tracing::info!(task = %task.id, model = task.model, status = outcome.as_str(), reason, "task ended");
                metrics::counter!(metric::TASKS_ENDED, "model" => task.model.clone(), "outcome" => outcome.as_str())
                    .increment(1);
                self.media.drop_blobs(&task.blobs).await;
                Ok(Turn::Over)
            }
            other => Ok(self.lost_race(visit, &other)),
        }
    }

    fn lost_race(&self, visit: &Visit, answer: &Result<Applied, Rejection>) -> Turn {
        match answer {
            Err(Rejection::Final(_) | Rejection::NoTask(_)) => Turn::Over,
            Err(Rejection::Stale { .. }) => Turn::Until(self.now()),
            other => {
                // A rule of `tasks` was broken from here: loud, and not in a tight loop.
                tracing::error!(task = %visit.task.id, ?other, "the store refused a change");
                Turn::Until(self.now().plus(Duration::from_secs(5)))
            }
        }
    }
}

/// A wait can be lost: what led to it is on record, or is a safe call that is made again. One that ends soon is
/// waited for, since the next visit reads it.
fn durability(visit: &Visit, noted: bool, now: UnixMs) -> Durability {
    match visit.task.phase {
        Phase::Wait(due) if !noted && due.since(now) >= SOON => Durability::Deferred,
        _ => Durability::Immediate,
    }
}

/// Nothing a restart would miss: equal but for the moment of the next wake-up.
fn is_same(visit: &Visit) -> bool {
    let (new, old) = (&visit.task, &visit.durable);
    let both_wait = matches!((&new.phase, &old.phase), (Phase::Wait(_), Phase::Wait(_)));
    (both_wait || new.phase == old.phase)
        && new.status == old.status
        && new.progress == old.progress
        && new.state == old.state
        && new.digest == old.digest
        && new.assignment == old.assignment
        && new.blobs == old.blobs
}

fn change(visit: &Visit, audit: Option<String>) -> Change {
    let (new, old) = (&visit.task, &visit.durable);
    Change {
        status: new.status,
        progress: new.progress,
        phase: new.phase.clone(),
        state: (new.state != old.state || new.state_version != old.state_version)
            .then(|| (new.state_version, new.state.clone())),
        digest: (new.digest != old.digest).then_some(new.digest),
        assignment: (new.assignment != old.assignment).then(|| new.assignment.clone()).flatten(),
        blobs: (new.blobs != old.blobs).then(|| new.blobs.clone()),
        audit,
    }
}
