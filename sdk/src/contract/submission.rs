//! A request for a long job, and the events of its task.

use serde_json::Value;

pub use crate::bindings::exports::gatehouse::family::jobs::Event;

use super::json;
use super::media::Facts;
use crate::bindings::exports::gatehouse::family::jobs;
use crate::bindings::gatehouse::family::types;

/// The task a follow-up refers to. The host has already checked that it belongs to the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Parent {
    /// Its id.
    pub task: String,
    /// Its own model id, never an alias.
    pub model: String,
    /// Whether it completed.
    pub completed: bool,
    /// What the client reads as `result`.
    pub public: Value,
    /// What the family kept for follow-ups.
    pub private: Value,
}

/// A request for a long job.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// "images.generate", ...
    pub surface: String,
    /// The client's body; the host replaced long media by `blob:<id>`.
    pub body: Value,
    /// The task a follow-up refers to.
    pub parent: Option<Parent>,
    /// Facts about the blobs cut out of `body`, in order of appearance; [`Facts::blob`] is always there.
    pub blobs: Vec<Facts>,
}

impl Submission {
    /// A request without media and without a parent.
    ///
    /// ```
    /// use gatehouse_sdk::Submission;
    /// let request = Submission::new("images.generate", serde_json::json!({"prompt": "a kite"}));
    /// assert!(request.blobs.is_empty() && request.parent.is_none());
    /// ```
    #[must_use]
    pub fn new(surface: impl Into<String>, body: Value) -> Self {
        Self { surface: surface.into(), body, parent: None, blobs: Vec::new() }
    }
}

impl TryFrom<jobs::Submission> for Submission {
    type Error = types::Refusal;

    fn try_from(request: jobs::Submission) -> Result<Self, types::Refusal> {
        Ok(Self {
            surface: request.surface,
            body: json::of_client(&request.body)?,
            parent: request.parent.map(|parent| Parent {
                task: parent.task_id,
                model: parent.model,
                completed: parent.completed,
                public: json::of_host(&parent.public),
                private: json::of_host(&parent.private),
            }),
            blobs: request.blobs,
        })
    }
}

impl Event {
    /// The event's name, for logs.
    ///
    /// ```
    /// assert_eq!(gatehouse_sdk::Event::Timer.name(), "timer");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Reply(_) => "reply",
            Self::Outage(_) => "outage",
            Self::Probed(_) => "probed",
            Self::Timer => "timer",
            Self::Cancel => "cancel",
            Self::Lost(_) => "lost",
        }
    }
}
