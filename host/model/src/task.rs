//! A task's record: what the client sees, what the family keeps, and what the host must do next.
//!
//! ```text
//! Run(event) --plugin--> Call --(permit)--> Sent --reply--> Run(Reply) ...
//!      ^                  |safe: not journalled                |
//!      |                  `-----------> Run(Reply) <-----------+- adopt
//!      |                  `<- resend - Ambiguous <- no reply --'
//!      +--timer-- Wait
//!      +--facts-- Probe
//!      +--lost--- Publish --copied--> the step's own action
//!      +--lost--- Save, SaveFailed --copied--> Over
//! ```
//! `Ambiguous` waits for an operator, who may also fail the task. The rules of movement are in `tasks`; this is only the
//! shape.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::call::{Call, Outage};
use crate::contract::charge::{Charge, Terms};
use crate::contract::task_contract::{
    Action, Blame, Event, FailedOutcome, Failure, InterimView, Outcome, Probe, Stage,
};
use crate::credits::Credits;
use crate::digest::Digest;
use crate::ids::{BlobId, CustomerId, KeyId, MediaId, TaskId};
use crate::price::Price;
use crate::status::Status;
use crate::tags::Tags;
use crate::time::UnixMs;
use crate::trace::TraceParent;
use crate::words;

impl From<Stage> for Status {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Submitted => Self::Submitted,
            Stage::Pending => Self::Pending,
            Stage::Processing => Self::Processing,
        }
    }
}

/// What the host must do next for a task. Durable, so a restart knows it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Tell the plugin this.
    Run(Event),
    /// Make this call; nothing has been sent yet.
    Call(Call),
    /// The call's bytes may have left, and no reply is on record: ambiguous after a restart.
    Sent {
        /// The call.
        call: Call,
        /// When it was about to leave.
        at: UnixMs,
    },
    /// The call's bytes left, or may have left, and no reply came: an operator says what becomes of it, until the deadline.
    Ambiguous {
        /// The call.
        call: Call,
        /// When it was about to leave.
        at: UnixMs,
        /// How it was lost; `None` when the process stopped meanwhile.
        outage: Option<Outage>,
    },
    /// Look at these media.
    Probe(Vec<Probe>),
    /// Wake the plugin at this moment.
    Wait(UnixMs),
    /// Copy the products of a view, show the view, then do this.
    Publish {
        /// The view.
        view: InterimView,
        /// What the plugin wants next.
        next: Box<Action>,
    },
    /// Copy the products, then complete.
    Save(Outcome),
    /// Copy the products, then fail.
    SaveFailed(FailedOutcome),
    /// Nothing.
    Over,
}

impl Phase {
    /// The call that waits for an operator's ruling.
    #[must_use]
    pub fn ambiguous_call(&self) -> Option<&Call> {
        match self {
            Self::Ambiguous { call, .. } => Some(call),
            _ => None,
        }
    }
}

/// What became of a failed task, for the client (`data.error`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailure {
    /// Decides the `type` word.
    pub kind: FailureKind,
    /// The specific reason.
    pub message: String,
}

words! {
    /// The kinds of task failure a client can tell apart.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum FailureKind {
        /// The request asked for what cannot be done.
        Request = "request",
        /// A moderation filter stopped it.
        Moderation = "moderation",
        /// The provider failed.
        Upstream = "upstream",
        /// Older than its time limit.
        Timeout = "timeout",
        /// The client stopped it.
        Cancelled = "cancelled",
        /// The gateway or the plugin failed.
        Internal = "internal",
        /// The customer has reached a limit of the provider.
        Limit = "limit",
    }
}

/// A provider and the account there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountAssignment {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The account's name there.
    pub account: String,
}

/// A copied result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Its id, the name in the media store.
    pub id: MediaId,
    /// Its type by its own bytes.
    pub mime: String,
    /// Its length.
    pub bytes: u64,
    /// When its link ends.
    pub expires: UnixMs,
}

/// An accepted request that joined a living task, not yet delivered to its plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedRequest {
    /// The surface it came through.
    pub surface: String,
    /// What its plugin made of it; delivered with [`Event::Joined`].
    pub brief: Bytes,
    /// The blobs it brought.
    pub blobs: Vec<BlobId>,
    /// What it added to the task's hold.
    pub held: Credits,
}

/// A durable asynchronous job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Counts every durable change; a command names the revision it is based on.
    pub revision: u64,
    /// Who pays, and the only one who may see it.
    #[serde(rename = "account")]
    pub customer: CustomerId,
    /// The key it came through.
    pub key: KeyId,
    /// The family that admitted it.
    pub family: String,
    /// The exact build that admitted it.
    pub digest: Digest,
    /// The version of `state`.
    pub state_version: u32,
    /// The family's own state.
    #[serde(with = "serde_bytes")]
    pub state: Vec<u8>,
    /// Fixed randomness for the plugin.
    pub seed: u64,
    /// Canonical model.
    pub model: String,
    /// The surface it came through.
    pub surface: String,
    /// What the client sees.
    pub status: Status,
    /// 0 to 100, never falls.
    pub progress: u8,
    /// When it was accepted.
    pub created: UnixMs,
    /// When the host fails it by itself; later with each request that joins it.
    pub deadline: UnixMs,
    /// When it ended.
    pub finished: Option<UnixMs>,
    /// How long such a job usually takes.
    pub expected_ms: Option<u32>,
    /// What to do next.
    pub phase: Phase,
    /// Delivered with [`Event::Start`], and with [`Event::Joined`] once that request is being delivered; empty
    /// afterwards.
    #[serde(default)]
    pub brief: Bytes,
    /// Requests that joined it, not yet delivered, oldest first.
    #[serde(default)]
    pub joined: Vec<JoinedRequest>,
    /// The provider account that made it; follow-ups go there too.
    #[serde(rename = "seat")]
    pub assignment: Option<AccountAssignment>,
    /// Blobs only this task may name.
    pub blobs: Vec<BlobId>,
    /// What it costs where its outcome does not settle, as promised when it was accepted.
    pub charge: Charge,
    /// The most that it may settle for; without lines where that is the charge.
    #[serde(default, skip_serializing_if = "no_lines")]
    pub at_most: Charge,
    /// The prices of the lines of `charge`, then of `at_most`, frozen at submit.
    pub prices: Vec<Price>,
    /// Held: at submit, and for each request that joined.
    pub held: Credits,
    /// The part of `held` that requests which joined have added. It is billed as it is when the task completes.
    #[serde(default)]
    pub joined_held: Credits,
    /// Whether its plugin is having the provider stop it, because its client or an operator asked: a failure is then a
    /// cancellation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_asked: bool,
    /// Whether a call was sent again after a crash: its provider may work on what was sent before, whatever it says of the
    /// repetition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sent_again: bool,
    /// Where its trace goes on, if it is sampled: the request that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceParent>,
    /// Where its end is told, beside all webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<String>,
    /// What its client noted down about it. Requests that join it add nothing.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Settled at the end; zero for a failed task.
    pub cost: Option<Credits>,
    /// `result`, interim or final, with `media:<n>` placeholders, JSON. Empty while there is none.
    #[serde(with = "serde_bytes")]
    pub public: Vec<u8>,
    /// What the family keeps for follow-ups, JSON.
    #[serde(with = "serde_bytes")]
    pub private: Vec<u8>,
    /// The copied results, in the order of the placeholders.
    pub media: Vec<Media>,
    /// Why it failed; on a task that has not ended yet, why it is going to ("accept now, fail at once").
    #[serde(alias = "fault")]
    pub failure: Option<TaskFailure>,
}

impl Task {
    /// What was agreed on when it was accepted; what joined it is not in it.
    #[must_use]
    pub fn terms(&self) -> Terms<'_> {
        Terms { charge: &self.charge, at_most: &self.at_most, prices: &self.prices }
    }
}

fn no_lines(charge: &Charge) -> bool {
    charge.0.is_empty()
}

impl From<Failure> for TaskFailure {
    fn from(failure: Failure) -> Self {
        let kind = match failure.blame {
            Blame::Request => FailureKind::Request,
            Blame::Moderation => FailureKind::Moderation,
            Blame::Cancelled => FailureKind::Cancelled,
            Blame::Limit => FailureKind::Limit,
            Blame::Timeout => FailureKind::Timeout,
            Blame::Upstream | Blame::Account => FailureKind::Upstream,
        };
        Self { kind, message: failure.message }
    }
}
