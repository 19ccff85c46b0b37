//! Cancelling: at once while nothing has been sent, otherwise only if the family can stop the provider.
//!
//! A cancelled task is `failed`, and every failed task is refunded in full. So a job that goes on at its provider
//! is not cancelled here; the error tells the caller that it goes on. Where the family has a call that stops the provider,
//! that call is made first, and its answer decides. An operator may give it up all the same: what the
//! provider still makes of it, and bills, is the operator's.

use std::sync::Arc;

use gatehouse_model::{
    AccountAssignment, Action, Boxed, Cause, Event, FailureKind, Key, Phase, Replay, Task, TaskFailure,
    TaskId,
};
use gatehouse_runtime::StepRoute;
use gatehouse_tasks::{Applied, Command, Ending, Rejection};

use crate::errors::CancelError;
use crate::live::live_tasks::LiveTasks;
use crate::shared::Shared;
use crate::step::commit::{Commits, note_end};
use crate::step::log::step_log::StepLog;
use crate::step::run_context::RunContext;

/// A cancel that keeps losing the race against the task's own steps gives up after this many tries.
const TRIES: usize = 8;

/// What a cancel came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The task is `failed` and refunded.
    Ended(Task),
    /// Its provider is asked to stop it. The task ends as cancelled once that is done, and goes on where it cannot be.
    Asked(Task),
}

impl Cancelled {
    /// The task as it is now.
    #[must_use]
    pub fn into_task(self) -> Task {
        match self {
            Self::Ended(task) | Self::Asked(task) => task,
        }
    }
}

/// Ends tasks before their time.
pub struct Cancels {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) commits: Arc<Commits>,
}

impl Cancels {
    /// Stops a task if it can be stopped, or has its provider stop it.
    ///
    /// # Errors
    /// [`CancelError`]; the task goes on.
    pub fn cancel<'a>(&'a self, key: &'a Key, id: TaskId) -> Boxed<'a, Result<Cancelled, CancelError>> {
        let message = "cancelled by the client";
        let failure = TaskFailure { kind: FailureKind::Cancelled, message: message.to_owned() };
        Box::pin(self.end_early(Some(key), id, EarlyEnd { failure, audit: None, gives_up: false }))
    }

    /// The same for an operator, for any customer's task. The reason goes into the audit record, in the commit that ends the
    /// task; its client reads that the operator ended it.
    ///
    /// # Errors
    /// [`CancelError`]; the task goes on.
    pub fn cancel_for_operator(&self, id: TaskId, reason: &str) -> Boxed<'_, Result<Cancelled, CancelError>> {
        let message = "cancelled by the operator of the gateway";
        let failure = TaskFailure { kind: FailureKind::Cancelled, message: message.to_owned() };
        let audit = Some(format!("cancelled by an operator: {reason}"));
        Box::pin(self.end_early(None, id, EarlyEnd { failure, audit, gives_up: false }))
    }

    /// Ends a task whatever its provider does with it; it then is `failed` and refunded. What the provider still answers is
    /// not read any more, and what it bills is the operator's cost: the line in the audit record names the account.
    ///
    /// # Errors
    /// [`CancelError`] for an unknown task, or one that has ended.
    pub fn give_up<'a>(&'a self, id: TaskId, reason: &str) -> Boxed<'a, Result<Cancelled, CancelError>> {
        let message = "given up by the operator of the gateway; nothing was charged";
        let failure = TaskFailure { kind: FailureKind::Upstream, message: message.to_owned() };
        let audit = Some(format!("given up by an operator: {reason}"));
        Box::pin(self.end_early(None, id, EarlyEnd { failure, audit, gives_up: true }))
    }

    async fn end_early(
        &self,
        key: Option<&Key>,
        id: TaskId,
        end: EarlyEnd,
    ) -> Result<Cancelled, CancelError> {
        let EarlyEnd { failure, audit, gives_up } = end;
        let find = async || {
            let is_own = |task: &Task| key.is_none_or(|key| task.customer == key.customer);
            self.shared.store.task(id).await?.filter(is_own).ok_or(CancelError::NotFound)
        };
        let quiet = self.live.take_quiet(id);
        for _ in 0..TRIES {
            let task = find().await?;
            if task.status.is_final() {
                return Err(CancelError::Over(task.status));
            }
            match if gives_up { Stop::Here } else { self.stop(&task, audit.clone()).await? } {
                Stop::Here => {}
                Stop::Asked => return asked(find().await?),
                Stop::Changed => continue,
                Stop::Impossible => return Err(CancelError::Running),
            }
            let audit = audit.clone().map(|text| text + &left_behind(&task));
            let mut log = StepLog::after(quiet);
            log.decision(self.shared.now(), audit.as_deref().unwrap_or(&failure.message));
            let ending = Ending::failed(failure.clone());
            let command =
                Command::Finish { id, revision: task.revision, ending, audit, at: self.shared.now() };
            let command = log.logged(command, self.shared.now());
            match self.shared.store.execute(command).await? {
                Ok(applied) => {
                    let ended = if let Applied::Task(ended) = applied { *ended } else { task };
                    note_end(&ended);
                    self.shared.media.drop_blobs(&ended.blobs).await;
                    self.live.end(id);
                    return Ok(Cancelled::Ended(ended));
                }
                Err(Rejection::Stale { .. }) => {}
                // Another cancel, or the task's own end, came first.
                Err(Rejection::Final(status)) => return Err(CancelError::Over(status)),
                Err(_) => return Err(CancelError::NotFound),
            }
        }
        Err(CancelError::Running)
    }
}

/// How a task ends before its time.
struct EarlyEnd {
    /// What its client reads.
    failure: TaskFailure,
    /// For the operator.
    audit: Option<String>,
    /// Whatever its provider does.
    gives_up: bool,
}

/// What may go on at a provider, for the audit record.
fn left_behind(task: &Task) -> String {
    match &task.assignment {
        Some(AccountAssignment { provider, account }) if !is_unsent(task) => {
            format!("; account {account} of {provider} may finish and bill what was sent")
        }
        _ => String::new(),
    }
}

/// What may be done about a task that is to be stopped.
enum Stop {
    /// It ends here, and nothing runs on at its provider.
    Here,
    /// A call that stops its provider is the task's next one.
    Asked,
    /// The task has moved meanwhile: ask again.
    Changed,
    /// It goes on.
    Impossible,
}

impl Cancels {
    /// How a task can be stopped. Makes the call that stops its provider the task's next one, with a line for the audit
    /// record, where its family has one.
    async fn stop(&self, task: &Task, audit: Option<String>) -> Result<Stop, CancelError> {
        if is_unsent(task) {
            return Ok(Stop::Here);
        }
        if task.stop_asked {
            // Another cancel came first. A line of its own: a change of the task would lose a reply in hand.
            if let Some(text) = audit {
                let line = Command::Audit { task: Some(task.id), text, at: self.shared.now() };
                // Nothing refuses a line.
                let _ = self.shared.store.execute(line).await?;
            }
            return Ok(Stop::Asked);
        }
        // Only a task that waits can be cancelled through its plugin: the plugin's state does not include a call
        // in flight, or a reply that is on record and not yet delivered.
        if !matches!(task.phase, Phase::Call(_) | Phase::Wait(_)) {
            return Ok(Stop::Impossible);
        }
        let Ok(StepRoute::Run(version)) =
            self.shared.plugins.route(&task.family, &task.digest, task.state_version).await
        else {
            return Ok(Stop::Impossible);
        };
        let (began, event) = (self.shared.now(), Event::Cancel(Cause::Client));
        let mut log = StepLog::default();
        let step = self
            .shared
            .plugins
            .advance(&version, self.shared.context(task, &version), task.state.clone(), event)
            .await
            .inspect(|step| log.plugin(began..self.shared.now(), version.digest(), "cancel", step));
        match step.map(|step| (step.next, step.state)) {
            // The plugin does not know of a crash.
            Ok((Action::Fail(_), _)) if task.sent_again || is_perhaps_sent(&task.phase) => {
                Ok(Stop::Impossible)
            }
            Ok((Action::Fail(_), _)) => Ok(Stop::Here),
            Ok((Action::Call(call), state)) => {
                let mut run = RunContext::new(task.clone(), None);
                run.log = log;
                run.task.state = state;
                run.task.phase = Phase::Call(call);
                run.task.stop_asked = true;
                if self.commits.commit(&mut run, audit).await?.is_some() {
                    return Ok(Stop::Changed);
                }
                self.live.wake(task.id, self.shared.now());
                Ok(Stop::Asked)
            }
            _ => Ok(Stop::Impossible),
        }
    }
}

/// What a cancel came to whose provider was asked to stop the task: that may be over already.
fn asked(task: Task) -> Result<Cancelled, CancelError> {
    let is_cancelled = task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Cancelled);
    match task.status {
        status if !status.is_final() => Ok(Cancelled::Asked(task)),
        _ if is_cancelled => Ok(Cancelled::Ended(task)),
        status => Err(CancelError::Over(status)),
    }
}

/// A call that is sent again after a crash: its provider may work on what was sent before.
fn is_perhaps_sent(phase: &Phase) -> bool {
    matches!(phase, Phase::Call(call) if call.replay == Replay::Token)
}

/// No call that a provider would act on has begun.
fn is_unsent(task: &Task) -> bool {
    // The account assignment becomes durable with the first attempt, before its bytes leave.
    task.assignment.is_none()
        && !matches!(
            task.phase,
            Phase::Sent { .. } | Phase::Ambiguous { .. } | Phase::Save(_) | Phase::SaveFailed(_)
        )
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Status;
    use gatehouse_sample::{START, task};

    use super::*;

    /// Without it a client would read that its task is being stopped, long after it has its result.
    #[test]
    fn a_task_that_ends_before_its_cancel_is_answered_is_told_by_its_end() {
        let failed = |kind| Some(TaskFailure { kind, message: String::new() });
        let ended = |status, failure| asked(Task { status, failure, ..task(1, 0, 0, 10, START) });
        assert!(matches!(ended(Status::Pending, None), Ok(Cancelled::Asked(_))));
        let cancelled = ended(Status::Failed, failed(FailureKind::Cancelled));
        assert!(matches!(cancelled, Ok(Cancelled::Ended(_))));
        for (status, failure) in [(Status::Completed, None), (Status::Failed, failed(FailureKind::Upstream))]
        {
            let over = ended(status, failure);
            assert!(matches!(over, Err(CancelError::Over(found)) if found == status), "{over:?}");
        }
    }
}
