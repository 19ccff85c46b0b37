//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::UnixMs;
use gatehouse_sdk::job::{Attempts, Polls};
use serde::{Deserialize, Serialize};

use crate::request::{LaterCharge, VideoRequest};

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; a source may be probed.
    Accepted(VideoRequest),
    /// The submission is sent, or waits for the next try.
    Sending(Sending),
    /// The provider has accepted it.
    Running(Job),
}

/// A submission.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    pub(crate) request: VideoRequest,
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// A task the provider has accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// When it was first seen to be worked on.
    pub(crate) begun: Option<UnixMs>,
    /// Whether the call under way is to cancel it.
    pub(crate) cancelling: bool,
    /// What it costs, where that was not known when it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) charge: Option<LaterCharge>,
    #[serde(flatten)]
    pub(crate) polls: Polls,
}
