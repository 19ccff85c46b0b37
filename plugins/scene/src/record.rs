//! What the family keeps of a finished video for its continuation: the private record.
//!
//! The provider continues any file, so the file the host keeps is sent, unless the video is in the operator's bucket. The account
//! that made it is the host's to remember.

use gatehouse_sdk::Parent;
use serde::{Deserialize, Serialize};

use crate::words::{Aspect, Model, People, Resolution};

/// The private record of a finished video.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) model: Model,
    /// Where the operator's bucket keeps the first video: `gs://...`. Records of older versions may have another address.
    pub(crate) uri: Option<String>,
    /// Length of that video. It is the provider's, so it begins with the original even where the client got only the new part.
    pub(crate) milliseconds: u64,
    /// How much of its beginning the client did not get.
    pub(crate) hidden_milliseconds: u64,
    /// How many videos the client got.
    pub(crate) videos: usize,
    pub(crate) aspect: Aspect,
    pub(crate) resolution: Resolution,
    pub(crate) audio: bool,
    pub(crate) people: People,
}

impl Record {
    pub(crate) fn of(parent: &Parent) -> Option<Self> {
        Self::deserialize(&parent.private).ok()
    }
}
