//! What one run of a due task carries along, and what follows each of its phases.

use std::sync::Arc;

use gatehouse_model::{Action, Status, Step, Task, UnixMs};
use gatehouse_store::StoreError;
use gatehouse_upstream::AccountPermit;
use tokio::sync::OwnedSemaphorePermit;

use crate::live::AnsweredCall;
use crate::step::log::step_log::StepLog;

/// The permit of a task's account, if it has one.
pub(super) type HeldPermit = Option<Arc<AccountPermit>>;

/// A task in progress: as the store has it, and as it is becoming.
pub(super) struct RunContext {
    pub(super) durable: Task,
    pub(super) task: Task,
    pub(super) account_permit: HeldPermit,
    /// A provider asked for no call before this moment.
    pub(super) not_before: Option<UnixMs>,
    /// The call that the plugin is told the reply of.
    pub(super) answered: Option<AnsweredCall>,
    /// Given back before a wait for the network, where other limits hold.
    pub(super) step_permit: Option<OwnedSemaphorePermit>,
    /// Steps its plugin has taken in this run.
    pub(super) steps: u32,
    /// What was done since the last commit.
    pub(super) log: StepLog,
}

impl RunContext {
    /// Boxed: it is handed on by value, and every future on the way would have room for it twice.
    pub(super) fn new(task: Task, account_permit: HeldPermit) -> Box<Self> {
        Box::new(Self {
            durable: task.clone(),
            task,
            account_permit,
            not_before: None,
            answered: None,
            step_permit: None,
            steps: 0,
            log: StepLog::default(),
        })
    }

    /// Takes over what a step of the plugin says of the task; what it wants next. Neither status nor progress goes back.
    pub(super) fn take(&mut self, step: Step) -> Action {
        let task = &mut self.task;
        task.state = step.state;
        task.status = task.status.max(Status::from(step.stage));
        task.progress = task.progress.max(step.progress);
        step.next
    }
}

/// What follows a phase, or a failed store.
pub(super) type StepResult = Result<StepOutcome, StoreError>;

/// What follows a phase.
pub(super) enum StepOutcome {
    /// The next phase.
    Continue,
    /// The task is due again at this moment.
    Until(UnixMs),
    /// The task has ended.
    Ended,
}
