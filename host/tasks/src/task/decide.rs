//! Decisions about a task that depend on nothing but the task and the time.

use gatehouse_model::{Call, FailureKind, Outage, Replay, Task, TaskFailure, UnixMs, words};

words! {
    /// What to do about a call whose bytes may have left and whose reply is not on record.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AfterCrash {
        /// Keep the task as it is, until an operator says what became of the call or its time is over.
        Ask = "ask",
        /// Fail the task and give its hold back: nobody knows whether the provider works on it, and the user
        /// must not pay twice for a guess.
        Refund = "refund",
        /// Send the same bytes again: harmless, or recognised by the provider.
        Resend = "resend",
    }
}

/// The policy for an ambiguous call (I13); `asks` where the operator wants to be asked about those that may not be
/// repeated.
#[must_use]
pub fn after_crash(call: &Call, asks: bool) -> AfterCrash {
    match call.replay {
        Replay::Safe | Replay::Token => AfterCrash::Resend,
        Replay::Once if asks => AfterCrash::Ask,
        Replay::Once => AfterCrash::Refund,
    }
}

/// Whether an operator is asked about a call that ended so, where `asks` says that the operator wants to be: it left, may
/// not be repeated, and its reply is not in hand.
#[must_use]
pub fn asks_after_outage(call: &Call, outage: Outage, asks: bool) -> bool {
    let has_left = match outage {
        Outage::Timeout | Outage::Broken | Outage::TooLarge => true,
        Outage::Unreachable | Outage::Refused => false,
    };
    asks && has_left && call.replay == Replay::Once
}

/// Whether the task must now be ended as [`timed_out`]; never before its deadline (I12).
#[must_use]
pub fn is_overdue(task: &Task, now: UnixMs) -> bool {
    !task.status.is_final() && now >= task.deadline
}

/// The failure of a task older than its limit; the spec gives the words.
#[must_use]
pub fn timed_out() -> TaskFailure {
    TaskFailure { kind: FailureKind::Timeout, message: "Task timeout".into() }
}

/// The failure of a task whose call was ambiguous and may not be sent again.
#[must_use]
pub fn lost_answer() -> TaskFailure {
    TaskFailure {
        kind: FailureKind::Upstream,
        message: "The gateway restarted while the provider was answering; nothing was charged".into(),
    }
}
