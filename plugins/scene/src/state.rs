//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::{Event, Failure, UnixMs, log};
use serde::{Deserialize, Serialize};

use crate::provider::VideoSource;
use crate::request::{VideoKind, VideoRequest};
use crate::words::{Dialect, Model};

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; images may be fetched.
    Accepted(VideoRequest),
    /// The submission is sent, or waits for the next try.
    Sending(Sending),
    /// The provider has accepted it.
    Running(Job),
    /// The provider has finished; videos it keeps are fetched.
    Fetching(Fetching),
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

/// An operation of the provider.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its name.
    pub(crate) operation: String,
    pub(crate) dialect: Dialect,
    pub(crate) model: Model,
    pub(crate) kind: VideoKind,
    /// When the provider accepted it.
    pub(crate) since: UnixMs,
    /// When to poll next.
    pub(crate) wake: UnixMs,
    pub(crate) progress: u8,
    pub(crate) faults: u32,
    pub(crate) misses: u32,
    pub(crate) losses: u32,
}

/// The videos of a finished operation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetching {
    pub(crate) job: Job,
    /// Those that were fetched are inline.
    pub(crate) videos: Vec<VideoSource>,
    /// Where the provider keeps the first one.
    pub(crate) uri: Option<String>,
    /// Where a redirect of the present one leads.
    pub(crate) redirect: Option<String>,
    /// Redirects of the present one so far.
    pub(crate) hops: u32,
    /// Failed tries of the present one.
    pub(crate) tries: u32,
    /// Waits until then; `None` while a call is sent.
    pub(crate) until: Option<UnixMs>,
}

/// A cancel before the submission was sent.
pub(crate) fn cancelled() -> Failure {
    Failure::request("cancelled before it was started")
}

/// An event that no step asked for. The task fails, so that it does not hang.
pub(crate) fn unexpected(event: &Event) -> Failure {
    log::error("an event came that nothing asked for", &[("event", event.name())]);
    Failure::upstream("the task was interrupted, please submit it again")
}
