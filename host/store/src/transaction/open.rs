//! One batch in one value: commands are applied to its rows, then these are committed. Dropped before, it leaves nothing.

use std::collections::BTreeSet;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gatehouse_model::{Task, TaskId, WebhookId};
use gatehouse_tasks::{
    Applied, Command, Kept, Kind as _, LedgerStorage as _, List, Rejection, RowChange, RowKey, Rows, apply,
};

use crate::below::Engine;
use crate::error::StoreError;

/// What a command came to.
pub(crate) type Outcome = Result<Applied, Rejection>;

/// How far a command came.
pub(crate) enum Step {
    /// Applied, or rejected.
    Done(Outcome),
    /// A row that it has to know cannot be fetched now; nothing of it was done.
    Away(Command),
}

/// One transaction from its begin to its commit.
pub(crate) struct OpenTransaction {
    rows: Rows<Engine>,
    /// Tasks that it may have changed.
    tasks: Vec<TaskId>,
    commands: usize,
}

/// What a commit has changed, and the rows that the next one need not read.
pub(crate) struct Committed {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) webhooks: BTreeSet<WebhookId>,
    pub(crate) kept: Kept,
}

impl OpenTransaction {
    /// Begins with the rows that the last commit kept.
    pub(crate) fn begin(engine: impl Into<Engine>, kept: Kept) -> Self {
        Self { rows: Rows::new(engine.into(), kept), tasks: Vec::new(), commands: 0 }
    }

    /// Commands so far, rejected ones with them.
    pub(crate) fn commands(&self) -> usize {
        self.commands
    }

    /// Applies a command. After an error the transaction must not be committed.
    pub(crate) fn apply(&mut self, command: Command) -> Result<Step, StoreError> {
        let again = self.rows.backend().may_be_away().then(|| command.clone());
        let task = command.task();
        match (guarded(|| apply(&mut self.rows, command)), again) {
            (Err(StoreError::Unavailable), Some(command)) => Ok(Step::Away(command)),
            (outcome, _) => {
                self.commands += 1;
                self.tasks.extend(task);
                outcome.map(Step::Done)
            }
        }
    }

    /// Has the commit drop the history of all days before `day`; how many days that are. A live task will end in the day of its
    /// creation, so that day stays.
    pub(crate) fn drop_history(&mut self, day: u32) -> Result<usize, StoreError> {
        guarded(|| self.drop_days(day))
    }

    fn drop_days(&mut self, day: u32) -> Result<usize, StoreError> {
        let oldest: Option<Task> = self.rows.first(&List::Live)?;
        let day = day.min(oldest.map_or(u32::MAX, |task| task.id.timestamp().day()));
        let mut days = self.rows.backend().days()?;
        days.extend(self.rows.changed().filter_map(|(_, row)| {
            let ended = Task::of(row).filter(|task| task.status.is_final())?;
            Some(ended.id.timestamp().day())
        }));
        self.rows.backend().drop_before(day);
        Ok(days.range(..day).count())
    }

    /// Applies what nobody waits for: of a rejection only the log hears. What is left once the engine is gone.
    pub(crate) fn apply_posted(&mut self, commands: Vec<Command>) -> Result<Vec<Command>, StoreError> {
        let mut commands = commands.into_iter();
        while let Some(command) = commands.next() {
            match self.apply(command)? {
                Step::Done(Ok(_)) => {}
                Step::Done(Err(rejection)) => {
                    tracing::error!(?rejection, "a posted command was rejected; nothing of it was done");
                }
                Step::Away(command) => return Ok(iter::once(command).chain(commands).collect()),
            }
        }
        Ok(Vec::new())
    }

    /// What is below the rows.
    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.rows.backend()
    }

    /// Whether no command has to fetch the row of that key.
    pub(crate) fn knows(&self, key: &RowKey) -> bool {
        self.rows.knows(key)
    }

    /// What is to be committed. Nothing is applied any more then.
    pub(crate) fn changes(&mut self) -> Result<Vec<RowChange>, StoreError> {
        guarded(|| Ok(self.rows.changes()))
    }

    /// Follows the commit of these changes.
    pub(crate) fn committed(mut self, changes: Vec<RowChange>) -> Committed {
        let drops = self.rows.backend().drops();
        let (kept, webhooks) = self.rows.committed(changes);
        // The counts of the logs that are gone are not right any more.
        let kept = if drops { kept.emptied() } else { kept };
        Committed { tasks: self.tasks, webhooks, kept }
    }

    /// Commits to an engine that does so at once.
    pub(crate) fn commit(mut self) -> Result<Committed, StoreError> {
        let changes = self.changes()?;
        guarded(|| gatehouse_tasks::Backend::commit(self.rows.backend(), &changes))?;
        Ok(self.committed(changes))
    }
}

/// A rule that panics must not leave half a command behind: its transaction is dropped.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(StoreError::failed(format_args!("the writer panicked: {text}")))
    })
}

/// Applies the commands in order and makes them durable together, as the writer does.
#[cfg(test)]
pub(crate) fn commit(
    database: &std::sync::Arc<redb::Database>,
    commands: Vec<Command>,
) -> Result<Vec<Outcome>, StoreError> {
    let engine =
        crate::engine::rows::FileEngine::new(std::sync::Arc::clone(database), std::sync::Arc::default());
    commit_with(engine, commands, &mut Kept::default())
}

/// The same with an engine that may be away for a moment, and the rows of the commit before.
#[cfg(test)]
pub(crate) fn commit_with(
    engine: impl Into<Engine>,
    commands: Vec<Command>,
    kept: &mut Kept,
) -> Result<Vec<Outcome>, StoreError> {
    let mut open = OpenTransaction::begin(engine, kept.take());
    let mut outcomes = Vec::new();
    for mut command in commands {
        outcomes.push(loop {
            match open.apply(command)? {
                Step::Done(outcome) => break outcome,
                Step::Away(again) => command = again,
            }
        });
    }
    *kept = open.commit()?.kept;
    Ok(outcomes)
}
