//! A request for a long job, and the events of its task.

use serde_json::Value;

pub use crate::bindings::exports::gatehouse::family::jobs::{Cause, Event};

use super::json::{self, Extra};
use super::manifest::ModelName;
use super::media::Facts;
use super::parent::{Owned, Parent};
use crate::bindings::exports::gatehouse::family::jobs;
use crate::bindings::gatehouse::family::types;

/// A request for a long job.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// "images.generate", ...
    pub surface: String,
    /// The model that the host found for the request.
    pub model: ModelName,
    /// The client's body; the host replaced long media by `blob:<id>`.
    pub body: Value,
    /// The tasks it follows up, in the order in which it names them.
    pub parents: Vec<Parent>,
    /// The names in `body` that the customer owns. All others are as unknown as names that never existed.
    pub owned: Vec<Owned>,
    /// Facts about the blobs cut out of `body`, in order of appearance; [`Facts::blob`] is always there.
    pub blobs: Vec<Facts>,
    /// What a later host says besides.
    pub extra: Extra,
}

impl Submission {
    /// A request without media and without a parent, for the model that `body` names.
    ///
    /// ```
    /// use gatehouse_sdk::Submission;
    /// let request = Submission::new("images.generate", serde_json::json!({"prompt": "a kite"}));
    /// assert!(request.blobs.is_empty() && request.parent().is_none());
    /// ```
    #[must_use]
    pub fn new(surface: impl Into<String>, body: Value) -> Self {
        let id = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            surface: surface.into(),
            model: ModelName { id, alias: None },
            body,
            parents: Vec::new(),
            owned: Vec::new(),
            blobs: Vec::new(),
            extra: Extra::new(),
        }
    }

    /// The first task it follows up.
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.parents.first()
    }

    /// The record of a name, if the customer owns it.
    #[must_use]
    pub fn owned(&self, name: &str) -> Option<&Owned> {
        self.owned.iter().find(|owned| owned.name == name)
    }
}

impl TryFrom<jobs::Submission> for Submission {
    type Error = types::Refusal;

    fn try_from(request: jobs::Submission) -> Result<Self, types::Refusal> {
        Ok(Self {
            surface: request.surface,
            model: ModelName { id: request.model.id, alias: request.model.alias },
            body: json::of_client(&request.body)?,
            parents: request.parents.into_iter().map(Into::into).collect(),
            owned: request.owned.into_iter().map(Into::into).collect(),
            blobs: request.blobs,
            extra: json::extra_of_host(&request.extra),
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
            Self::Start(_) => "start",
            Self::Joined(_) => "joined",
            Self::Reply(_) => "reply",
            Self::Outage(_) => "outage",
            Self::Probed(_) => "probed",
            Self::Timer => "timer",
            Self::Cancel(_) => "cancel",
            Self::Lost(_) => "lost",
            Self::Other(_) => "other",
        }
    }
}
