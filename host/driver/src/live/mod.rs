//! What the process knows of live tasks besides their rows: when each is due, what is held for it, and what is
//! kept of it between its runs.
//!
//! `due_heap` is the pure order of due times, `live_tasks` the soft state around it, which schedules a task again whose step panicked.
//! What a step does is decided in `step`.

mod due_heap;
pub(crate) mod live_tasks;

use gatehouse_model::{Call, UnixMs};

/// Steps that changed nothing worth a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuietSteps {
    pub(crate) count: u64,
    pub(crate) first: UnixMs,
    pub(crate) last: UnixMs,
}

impl QuietSteps {
    pub(crate) fn add(&mut self, at: UnixMs) {
        if self.count == 0 {
            self.first = at;
        }
        (self.count, self.last) = (self.count + 1, at);
    }
}

/// A call that was answered, and through which account.
pub(crate) struct AnsweredCall {
    pub(crate) call: Call,
    pub(crate) account: String,
    /// Of the answer.
    pub(crate) status: u16,
}

/// What is known of a durable reply that its plugin has still to be told, beside the task's record.
pub(crate) struct PendingReply {
    pub(crate) answered: AnsweredCall,
    pub(crate) not_before: Option<UnixMs>,
}
