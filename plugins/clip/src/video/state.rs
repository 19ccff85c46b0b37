//! The state of a video task, kept as JSON between its steps.

use gatehouse_sdk::job::{Attempts, Polls};
use serde::{Deserialize, Serialize};

use crate::video::params::Model;
use crate::video::request::VideoRequest;

/// The state of a video task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VideoState {
    /// Accepted; the references may be probed.
    Accepted(VideoRequest),
    /// The submission is sent, or waits for the next try.
    Sending(Sending),
    /// The provider has accepted it.
    Running(Job),
    /// The provider is asked to drop it from its queue.
    Stopping(Job),
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
    pub(crate) model: Model,
    pub(crate) return_last_frame: bool,
    /// The provider works on it; it cannot be stopped any more.
    pub(crate) is_running: bool,
    /// Its client has cancelled it: the provider is asked whether it is still queued, since only then it can be stopped.
    #[serde(default)]
    pub(crate) is_unwanted: bool,
    /// The last frame of a result that was handed to the host.
    pub(crate) last_frame: Option<String>,
    /// The last frame could not be copied: the video goes without it.
    pub(crate) without_frame: bool,
    #[serde(flatten)]
    pub(crate) polls: Polls,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it every video that is queued when the gateway is updated is lost.
    #[test]
    fn a_queued_video_of_an_older_version_is_read() {
        let older = json!({"Running": {
            "model": "clip-2.0", "return_last_frame": false, "is_running": false, "last_frame": null, "without_frame": false,
            "id": "cgt-1", "since": 1, "wake": 1, "progress": 5, "faults": 0, "misses": 0, "losses": 0,
        }});
        let read: VideoState = serde_json::from_value(older).unwrap();
        assert!(matches!(&read, VideoState::Running(job) if !job.is_unwanted && job.polls.id == "cgt-1"));
    }
}
