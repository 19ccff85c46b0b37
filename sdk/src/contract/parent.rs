//! What a request may refer to: earlier tasks of its customer, and names the customer owns.

use gatehouse_contract::SOME_TASK;
use serde_json::Value;

pub use crate::bindings::gatehouse::family::parents::Status;

use super::call::Affinity;
use super::context::UnixMs;
use super::failure::Failure;
use super::json;
use super::media::Facts;
use crate::bindings::exports::gatehouse::family::{jobs, views};
use crate::bindings::gatehouse::family::parents;

impl Status {
    /// As a client reads it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// A task of the same customer. The host has checked the owner.
#[derive(Clone, Debug, PartialEq)]
pub struct Parent {
    /// Its id.
    pub task: String,
    /// The family that made it.
    pub family: String,
    /// Its own model id, never an alias.
    pub model: String,
    /// What the client reads as `status`.
    pub status: Status,
    /// What the client reads as `result`, interim or final; null while there is none.
    pub public: Value,
    /// What the family kept for follow-ups.
    pub private: Value,
    /// Its results, as blobs this task may use; in the order of `media:<n>`.
    pub media: Vec<Facts>,
    /// The account that made it.
    pub affinity: Option<Affinity>,
    /// Briefs of the requests that joined it and that [`advance`](crate::Jobs::advance) has not answered yet, oldest
    /// first. Judge what joins next as if they were done: a task that takes one request takes no second.
    pub joining: Vec<Vec<u8>>,
}

impl Parent {
    /// A completed task without results, for self-tests and scripts.
    #[must_use]
    pub fn new(family: impl Into<String>, model: impl Into<String>, private: Value) -> Self {
        Self {
            task: SOME_TASK.to_owned(),
            family: family.into(),
            model: model.into(),
            status: Status::Completed,
            public: Value::Null,
            private,
            media: Vec::new(),
            affinity: None,
            joining: Vec::new(),
        }
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }
}

impl From<parents::Parent> for Parent {
    fn from(parent: parents::Parent) -> Self {
        Self {
            task: parent.task_id,
            family: parent.family,
            model: parent.model,
            status: parent.status,
            public: json::of_host(&parent.public),
            private: json::of_host(&parent.private),
            media: parent.media,
            affinity: parent.affinity,
            joining: parent.joining,
        }
    }
}

/// A name the customer owns, for example `asset://...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// The name.
    pub name: String,
    /// What the family kept with it.
    pub private: Value,
    /// The account where it exists.
    pub affinity: Option<Affinity>,
}

impl From<parents::Owned> for Owned {
    fn from(owned: parents::Owned) -> Self {
        Self { name: owned.name, private: json::of_host(&owned.private), affinity: owned.affinity }
    }
}

/// A name the customer owns from now on. A name that another customer owns cannot be claimed.
pub type Claim = Owned;

impl From<Claim> for jobs::Claim {
    fn from(claim: Claim) -> Self {
        Self { name: claim.name, private: claim.private.to_string(), affinity: claim.affinity }
    }
}

/// A task as [`Views`](crate::Views) renders it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskView {
    /// The task.
    pub task: Parent,
    /// 0 to 100.
    pub progress: u8,
    /// When it was accepted.
    pub created: UnixMs,
    /// When it ended.
    pub ended: Option<UnixMs>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What it cost, in the unit clients read, once it has ended.
    pub cost: Option<String>,
}

impl From<views::TaskView> for TaskView {
    fn from(view: views::TaskView) -> Self {
        Self {
            task: view.task.into(),
            progress: view.progress,
            created: UnixMs(view.created),
            ended: view.ended.map(UnixMs),
            failure: view.failure,
            cost: view.cost,
        }
    }
}
