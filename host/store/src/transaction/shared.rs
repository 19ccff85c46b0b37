//! The transaction that the writer leaves open for a moment. The caller of a deferred command applies it here, on the thread it
//! is on: a hold takes a few microseconds, and waking the writer and being woken by it several times that. Only the
//! writer begins and commits.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use gatehouse_tasks::Command;

use crate::error::StoreError;
use crate::posted::Posted;
use crate::transaction::open::{OpenTransaction, Outcome, Step};

/// Where the writer leaves its transaction, and takes it back.
pub(crate) struct SharedTransaction {
    state: Mutex<State>,
    /// Commands in one commit.
    limit: usize,
}

#[derive(Default)]
#[expect(clippy::large_enum_variant, reason = "there is one, and it moves once a commit")]
enum State {
    /// The writer has it, or there is none.
    #[default]
    Taken,
    Open(OpenTransaction),
    /// A command failed here. The transaction is gone, and the writer has to end.
    Failed(StoreError),
}

/// What came of a command for the open transaction.
pub(crate) enum Direct {
    Applied(Outcome),
    /// The store is of no more use: the writer has to be woken, to say so to all others.
    Failed(StoreError),
    /// None is open, it is full, another caller is at it, or its rows cannot be fetched: the writer's queue takes it.
    NotOpen(Command),
}

impl SharedTransaction {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    /// Others may apply commands to it from now on.
    pub(crate) fn open(&self, transaction: OpenTransaction) {
        *self.lock() = State::Open(transaction);
    }

    /// The transaction, with what others did to it; none if none is open.
    ///
    /// # Errors
    /// That of a command that failed here.
    pub(crate) fn take(&self) -> Result<Option<OpenTransaction>, StoreError> {
        match mem::take(&mut *self.lock()) {
            State::Taken => Ok(None),
            State::Open(transaction) => Ok(Some(transaction)),
            State::Failed(error) => Err(error),
        }
    }

    /// Applies `command` if a transaction is open that is not full, after what was posted before. Never
    /// waits for another who does the same.
    pub(crate) fn apply(&self, command: Command, posted: &Posted) -> Direct {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Direct::NotOpen(command),
        };
        let State::Open(transaction) = &mut *state else { return Direct::NotOpen(command) };
        if transaction.commands() >= self.limit {
            return Direct::NotOpen(command);
        }
        let step = transaction.apply_posted(posted.take()).and_then(|left| {
            if left.is_empty() {
                return transaction.apply(command);
            }
            posted.put_back(left);
            Ok(Step::Away(command))
        });
        match step {
            Ok(Step::Done(outcome)) => Direct::Applied(outcome),
            // The writer waits until the engine is back.
            Ok(Step::Away(command)) => Direct::NotOpen(command),
            Err(error) => {
                *state = State::Failed(error.clone());
                Direct::Failed(error)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic inside is caught before it reaches the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
