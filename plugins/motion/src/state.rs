//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::{Event, Failure, UnixMs, log};
use serde::{Deserialize, Serialize};

use crate::request::VideoRequest;

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
    /// Tries in a row that the provider did not accept.
    pub(crate) rests: u32,
    /// Since when the provider is unreachable.
    pub(crate) unreachable: Option<UnixMs>,
    /// Waits until then; `None` while the call is sent.
    pub(crate) until: Option<UnixMs>,
}

/// A task the provider has accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) id: String,
    /// When the provider accepted it.
    pub(crate) since: UnixMs,
    /// When it was first seen to be worked on.
    pub(crate) begun: Option<UnixMs>,
    /// When to poll next.
    pub(crate) wake: UnixMs,
    /// Whether the call under way is to cancel it.
    pub(crate) cancelling: bool,
    pub(crate) progress: u8,
    pub(crate) faults: u32,
    pub(crate) misses: u32,
    pub(crate) losses: u32,
}

/// A cancel before the submission was sent, or one the provider agreed to.
pub(crate) fn cancelled() -> Failure {
    Failure::request("cancelled before it was started")
}

/// An event that no step asked for. The task fails, so that it does not hang.
pub(crate) fn unexpected(event: &Event) -> Failure {
    log::error("an event came that nothing asked for", &[("event", event.name())]);
    Failure::upstream("the task was interrupted, please submit it again")
}
