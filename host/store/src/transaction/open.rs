//! A write transaction with its tables, in one value: commands are applied to it, then it is committed. Dropped before, it
//! leaves nothing.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gatehouse_model::{TaskId, WebhookId};
use gatehouse_tasks::{Applied, Command, Rejection, apply};
use redb::{Database, WriteTransaction};
use self_cell::self_cell;

use crate::error::StoreError;
use crate::transaction::batch::Batch;

/// What a command came to.
pub(crate) type Outcome = Result<Applied, Rejection>;

self_cell! {
    /// The tables borrow the transaction.
    struct Tables {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: Batch,
    }
}

/// One transaction from its begin to its commit.
pub(crate) struct OpenTransaction {
    tables: Tables,
    /// Tasks that it may have changed.
    tasks: Vec<TaskId>,
    commands: usize,
}

/// What a commit has changed.
pub(crate) struct Committed {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) webhooks: BTreeSet<WebhookId>,
}

impl OpenTransaction {
    pub(crate) fn begin(database: &Database) -> Result<Self, StoreError> {
        let mut txn = database.begin_write()?;
        // Two-phase commit with the allocator's state in it: reopening after a crash takes milliseconds.
        txn.set_quick_repair(true);
        let tables = Tables::try_new(txn, |txn| Batch::open(txn))?;
        Ok(Self { tables, tasks: Vec::new(), commands: 0 })
    }

    /// Commands so far, rejected ones with them.
    pub(crate) fn commands(&self) -> usize {
        self.commands
    }

    /// Applies a command. After an error the transaction must not be committed.
    pub(crate) fn apply(&mut self, command: Command) -> Result<Outcome, StoreError> {
        self.commands += 1;
        self.tasks.extend(command.task());
        self.tables.with_dependent_mut(|_, batch| guarded(|| apply(batch, command)))
    }

    /// Drops the history of all days before `day`; how many days that were.
    pub(crate) fn drop_history(&mut self, day: u32) -> Result<usize, StoreError> {
        self.tables.with_dependent_mut(|_, batch| guarded(|| batch.drop_history(day)))
    }

    /// Applies what nobody waits for: of a rejection only the log hears.
    pub(crate) fn apply_posted(&mut self, commands: Vec<Command>) -> Result<(), StoreError> {
        for command in commands {
            if let Err(rejection) = self.apply(command)? {
                tracing::error!(?rejection, "a posted command was rejected; nothing of it was done");
            }
        }
        Ok(())
    }

    pub(crate) fn commit(mut self) -> Result<Committed, StoreError> {
        let webhooks = self.tables.with_dependent_mut(|_, batch| guarded(|| batch.close()))?;
        let txn = self.tables.into_owner();
        guarded(|| Ok(txn.commit()?))?;
        Ok(Committed { tasks: self.tasks, webhooks })
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
pub(crate) fn commit(database: &Database, commands: Vec<Command>) -> Result<Vec<Outcome>, StoreError> {
    let mut open = OpenTransaction::begin(database)?;
    let outcomes = commands.into_iter().map(|command| open.apply(command)).collect::<Result<_, _>>()?;
    open.commit()?;
    Ok(outcomes)
}
