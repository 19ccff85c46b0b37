//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::UnixMs;
use gatehouse_sdk::job::{Attempts, Polls};
use serde::{Deserialize, Serialize};

use crate::provider::VideoSource;
use crate::request::{VideoKind, VideoRequest};
use crate::words::Model;

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
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// An operation of the provider; the id that is polled is its name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) model: Model,
    pub(crate) kind: VideoKind,
    #[serde(flatten)]
    pub(crate) polls: Polls,
}

/// The videos of a finished operation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetching {
    pub(crate) job: Job,
    /// Those that were fetched are inline.
    pub(crate) videos: Vec<VideoSource>,
    /// Where the provider keeps the first one.
    pub(crate) uri: Option<String>,
    /// Failed tries of the present one.
    pub(crate) tries: u32,
    /// Waits until then; `None` while a call is sent.
    pub(crate) until: Option<UnixMs>,
}
