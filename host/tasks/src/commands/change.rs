//! What progress and an end write into a task's record. Shapes only; the rules are in `task`.

use gatehouse_model::{
    AccountAssignment, BlobId, Claim, Credits, Digest, Media, Phase, Reply, Status, TaskFailure,
};
use serde::{Deserialize, Serialize};

/// A result with its products copied, as clients and follow-ups read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// The client's `result`, JSON.
    #[serde(with = "serde_bytes")]
    pub public: Vec<u8>,
    /// Kept for follow-ups, JSON.
    #[serde(with = "serde_bytes")]
    pub private: Vec<u8>,
    /// The copied products.
    pub media: Vec<Media>,
}

/// Durable progress of a live task. Status and progress never move back: an older value leaves the present one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Not final; only [`crate::Command::Finish`] ends a task.
    pub status: Status,
    /// 0 to 100; more counts as 100.
    pub progress: u8,
    /// What to do next; not [`Phase::Over`], and [`Phase::Ambiguous`] only for a call that was sent.
    pub phase: Phase,
    /// A new state and its version.
    pub state: Option<(u32, Vec<u8>)>,
    /// The version that continues the task, when it changes.
    pub digest: Option<Digest>,
    /// The provider account that made it.
    #[serde(rename = "seat")]
    pub assignment: Option<AccountAssignment>,
    /// The blobs it may name from now on.
    pub blobs: Option<Vec<BlobId>>,
    /// What clients and follow-ups read from now on; `None` leaves it.
    pub view: Option<ResultRecord>,
    /// Delivers the oldest request that joined: its brief becomes the task's, its blobs are added, and the phase is
    /// [`gatehouse_model::Event::Joined`] instead of `phase`. That one must be a wait or the save of an outcome:
    /// giving up any other would lose a reply or a call.
    pub deliver: bool,
    /// Whether its plugin is having the provider stop it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_asked: bool,
    /// Whether a call was sent again after a crash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sent_again: bool,
    /// A line for the audit record.
    pub audit: Option<String>,
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Well: `cost` is settled, the rest of the hold given back. Not while a request that joined is undelivered.
    Completed {
        /// What the client gets.
        result: ResultRecord,
        /// Names the customer owns from now on.
        claims: Vec<Claim>,
        /// What is settled: the task's own part, and all that requests which joined have added.
        cost: Credits,
    },
    /// Badly: the hold is given back whole, with what requests which joined have added.
    Failed {
        /// Why.
        failure: TaskFailure,
        /// How far it came, 0 to 100; more counts as 100, and an older value leaves the present one.
        progress: u8,
        /// What the client still gets; `None` keeps the last interim view.
        result: Option<ResultRecord>,
        /// Names the customer owns from now on.
        claims: Vec<Claim>,
    },
}

impl Ending {
    /// A bad end with nothing but its reason.
    #[must_use]
    pub fn failed(failure: TaskFailure) -> Self {
        Self::Failed { failure, progress: 0, result: None, claims: Vec::new() }
    }

    /// The names it claims.
    #[must_use]
    pub fn claims(&self) -> &[Claim] {
        match self {
            Self::Completed { claims, .. } | Self::Failed { claims, .. } => claims,
        }
    }
}

/// What an operator says of an ambiguous call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reconciliation {
    /// The provider answered so: the task goes on as if the reply had come.
    Adopt {
        /// The reply.
        reply: Reply,
        /// What was cut out of it; the task's from now on.
        blobs: Vec<BlobId>,
    },
    /// The task fails and its hold is given back; its client reads the reason.
    Fail,
    /// The same call is sent once more.
    Resend,
}

impl Reconciliation {
    /// The word for metrics, the audit record and the log of steps.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Adopt { .. } => "adopt",
            Self::Fail => "fail",
            Self::Resend => "resend",
        }
    }
}
