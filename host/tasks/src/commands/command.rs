//! Everything that can change: one closure-free value per change, so that it can be logged, replayed and
//! applied in batches.

use gatehouse_model::{
    AccountAssignment, BlobId, Credits, CustomerId, Digest, Key, KeyId, Media, Phase, RequestId, Status,
    Task, TaskFailure, TaskId, UnixMs,
};
use serde::{Deserialize, Serialize};

/// One change. The sender sets its times; the rules read no clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Makes an API key.
    AddKey {
        /// The whole record; nothing used yet. Made at its `created`.
        key: Box<Key>,
    },
    /// Records durable progress of a live task.
    Advance {
        /// The task.
        id: TaskId,
        /// The revision the change is based on.
        revision: u64,
        /// What changes.
        change: Box<Change>,
        /// When.
        at: UnixMs,
    },
    /// Writes a line into the audit record.
    Audit {
        /// The task it is about.
        task: Option<TaskId>,
        /// For the operator.
        text: String,
        /// When.
        at: UnixMs,
    },
    /// Pays in, or takes back when negative. Not idempotent: two deposits are two deposits.
    Deposit {
        /// Who gets it.
        #[serde(rename = "account")]
        customer: CustomerId,
        /// How much; never zero, never more taken back than is free.
        amount: Credits,
        /// For people.
        memo: String,
        /// When.
        at: UnixMs,
    },
    /// Drops the history of finished tasks created before a day; a day in which a live task was created stays.
    DropHistory {
        /// Days since the epoch.
        before_day: u32,
    },
    /// Ends a live task and resolves its hold.
    Finish {
        /// The task.
        id: TaskId,
        /// The revision the end is based on.
        revision: u64,
        /// How it ends.
        ending: Ending,
        /// A line for the audit record.
        audit: Option<String>,
        /// When.
        at: UnixMs,
    },
    /// Reserves money for a request that is answered while its client waits. A request id is used once.
    Hold {
        /// The request.
        id: RequestId,
        /// The key it came through; its customer pays.
        key: KeyId,
        /// How much at most.
        amount: Credits,
        /// The price of one unit, frozen here.
        unit_price: Credits,
        /// When the sweep releases it.
        expires: UnixMs,
        /// When.
        at: UnixMs,
    },
    /// Opens a customer with nothing in it.
    #[serde(rename = "OpenAccount")]
    AddCustomer {
        /// Its id.
        id: CustomerId,
        /// When.
        at: UnixMs,
    },
    /// Gives a request's hold back whole.
    Release {
        /// The request.
        id: RequestId,
        /// When.
        at: UnixMs,
    },
    /// Ends a key's validity. Revoking it again changes nothing.
    RevokeKey {
        /// The key.
        id: KeyId,
        /// When.
        at: UnixMs,
    },
    /// Spends part of a request's hold, or all of it, and gives the rest back.
    Settle {
        /// The request.
        id: RequestId,
        /// What it cost; at most what is held.
        amount: Credits,
        /// For people: what was counted.
        memo: String,
        /// When.
        at: UnixMs,
    },
    /// Accepts a task: task, hold and the memory of its idempotency key become durable together, at the
    /// task's `created`.
    Submit {
        /// The task, not yet ended, with `held` worked out.
        task: Box<Task>,
        /// Recognises idempotency_records.
        idempotency: Option<Idempotency>,
    },
    /// Forgets expired idempotency keys.
    Sweep {
        /// The present.
        now: UnixMs,
        /// At most this many.
        limit: usize,
    },
    /// Releases expired holds of requests.
    SweepHolds {
        /// The present.
        now: UnixMs,
        /// At most this many.
        limit: usize,
    },
}

/// How a submission is recognised when it comes again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idempotency {
    /// The API key it is scoped to.
    pub key: KeyId,
    /// The digest of the client's token.
    pub token: Digest,
    /// The digest of the request.
    pub fingerprint: Digest,
    /// Until when it is remembered.
    pub expires: UnixMs,
}

/// Durable progress of a live task. Status and progress never move back: an older value leaves the present one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Not final; only [`Command::Finish`] ends a task.
    pub status: Status,
    /// 0 to 100; more counts as 100.
    pub progress: u8,
    /// What to do next; not [`Phase::Over`].
    pub phase: Phase,
    /// A new state and its version.
    pub state: Option<(u32, Vec<u8>)>,
    /// The version that continues the task, when it changes.
    pub digest: Option<Digest>,
    /// The provider customer that made it.
    #[serde(rename = "seat")]
    pub assignment: Option<AccountAssignment>,
    /// The blobs it may name from now on.
    pub blobs: Option<Vec<BlobId>>,
    /// A line for the audit record.
    pub audit: Option<String>,
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Well: `cost` is settled, the rest of the hold given back.
    Completed {
        /// The client's `result`, JSON.
        #[serde(with = "serde_bytes")]
        public: Vec<u8>,
        /// Kept for follow-ups, JSON.
        #[serde(with = "serde_bytes")]
        private: Vec<u8>,
        /// The copied results.
        media: Vec<Media>,
        /// What is settled; at most what is held.
        cost: Credits,
    },
    /// Badly: the hold is given back whole.
    Failed(TaskFailure),
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Done; there is nothing to say.
    Done,
    /// Days of history dropped.
    Dropped(u32),
    /// The submission had come before and made this task; nothing was changed.
    Repeated(TaskId),
    /// The task was accepted.
    Submitted(TaskId),
    /// Expired rows swept, and whether there are more.
    Swept {
        /// How many.
        removed: usize,
        /// Send the command again.
        more: bool,
    },
    /// The task after [`Command::Advance`] or [`Command::Finish`].
    Task(Box<Task>),
}
