//! Commands that nobody waits for, until the writer takes them. Owns when the writer has to be woken for them: not while
//! it has a transaction open, before whose commit it looks here. Never applies one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use gatehouse_tasks::Command;

/// What was posted and not yet taken, in order.
#[derive(Default)]
pub(crate) struct Posted(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    commands: Vec<Command>,
    /// The writer takes them before it commits.
    is_open: bool,
}

impl Posted {
    /// Adds a command; whether the writer has to be woken for it.
    #[must_use]
    pub(crate) fn add(&self, command: Command) -> bool {
        let mut waiting = self.lock();
        waiting.commands.push(command);
        !waiting.is_open
    }

    /// Gives back what was taken and not applied: it is the first again.
    pub(crate) fn put_back(&self, commands: Vec<Command>) {
        drop(self.lock().commands.splice(0..0, commands));
    }

    /// From now on the writer takes what comes without being woken.
    pub(crate) fn open(&self) {
        self.lock().is_open = true;
    }

    /// What came so far.
    pub(crate) fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.lock().commands)
    }

    /// What came so far; for what comes from now on the writer has to be woken.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut waiting = self.lock();
        waiting.is_open = false;
        std::mem::take(&mut waiting.commands)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
