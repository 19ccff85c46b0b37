//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::job::{Attempts, Polls};
use serde::{Deserialize, Serialize};

use crate::params::Format;
use crate::request::ImageRequest;

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; the references may be probed.
    #[serde(rename = "Ordered")]
    Accepted(ImageRequest),
    /// The submission is sent, or waits for the next try.
    Sending(Sending),
    /// The provider has accepted it.
    Running(Job),
}

/// A submission.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    #[serde(rename = "order")]
    pub(crate) request: ImageRequest,
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// A task the provider has accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) polling_url: String,
    pub(crate) format: Format,
    /// Whether a poll has been answered clearly.
    pub(crate) seen: bool,
    #[serde(flatten)]
    pub(crate) polls: Polls,
}
