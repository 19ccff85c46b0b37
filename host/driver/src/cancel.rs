//! Cancelling: at once while nothing has been sent, otherwise only if the family can stop the provider.
//!
//! A cancelled task is `failed`, and like every failed task it is refunded in full; that is why a job
//! that goes on at its provider is not cancelled on paper (the answer says so instead).

use gatehouse_model::{Action, Event, FailureKind, Key, Phase, Task, TaskFailure, TaskId};
use gatehouse_runtime::Route;
use gatehouse_tasks::{Command, Ending, Rejection};

use crate::driver::Inner;
use crate::step::Visit;
use crate::{CancelError, Driver};

/// A cancel that keeps losing the race against the task's own steps gives up after this many tries.
const TRIES: usize = 8;

impl Driver {
    /// Stops a task if it can be stopped; it then is `failed` and refunded.
    ///
    /// # Errors
    /// [`CancelError`]; the task goes on.
    pub async fn cancel(&self, key: &Key, id: TaskId) -> Result<Task, CancelError> {
        let inner = &self.inner;
        for _ in 0..TRIES {
            let task = self.task(key, id)?.ok_or(CancelError::NotFound)?;
            if task.status.is_final() {
                return Err(CancelError::Over(task.status));
            }
            if !inner.may_stop(&task).await? {
                return Err(CancelError::Running);
            }
            let fault =
                TaskFailure { kind: FailureKind::Cancelled, message: "cancelled by the client".to_owned() };
            let command = Command::Finish {
                id,
                revision: task.revision,
                ending: Ending::Failed(fault),
                audit: None,
                at: inner.now(),
            };
            match inner.store.execute(command).await? {
                Ok(_) => {
                    inner.media.drop_blobs(&task.blobs).await;
                    inner.live.end(id, inner.now());
                    return self.task(key, id)?.ok_or(CancelError::NotFound);
                }
                Err(Rejection::Stale { .. }) => {}
                Err(_) => return Err(CancelError::NotFound),
            }
        }
        Err(CancelError::Running)
    }
}

impl Inner {
    /// Whether ending the task here leaves nothing running at its provider.
    async fn may_stop(&self, task: &Task) -> Result<bool, CancelError> {
        if is_unsent(task) {
            return Ok(true);
        }
        // Only a task at rest can be asked: the family's state knows nothing yet of a call that is out, or of an
        // answer that is on record and waits to be told.
        if !matches!(task.phase, Phase::Call(_) | Phase::Wait(_)) {
            return Ok(false);
        }
        let Ok(Route::Run(version)) = self.families.route(&task.family, &task.digest, task.state_version)
        else {
            return Ok(false);
        };
        let step = self
            .families
            .advance(&version, self.context(task, &version), task.state.clone(), Event::Cancel)
            .await;
        match step.map(|step| (step.next, step.state)) {
            Ok((Action::Fail(_), _)) => Ok(true),
            Ok((Action::Call(call), state)) => {
                // The family knows how to stop its provider: that call becomes the task's next one.
                let next = Task { state, phase: Phase::Call(call), ..task.clone() };
                let mut visit = Visit {
                    durable: task.clone(),
                    task: next,
                    place: None,
                    not_before: None,
                    permit: None,
                    steps: 0,
                };
                if self.commit(&mut visit, None).await?.is_none() {
                    self.live.wake(task.id, self.now());
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }
}

/// No call that a provider would act on has been begun.
fn is_unsent(task: &Task) -> bool {
    // The seat is written down with the first attempt, before its bytes leave.
    task.assignment.is_none() && !matches!(task.phase, Phase::Sent { .. } | Phase::Save(_))
}
