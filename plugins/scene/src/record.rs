//! What the family keeps of a finished video for its continuation: the private record.
//!
//! Vertex AI continues any file, so there the file the host keeps is sent, unless the video is in the operator's bucket. The
//! Gemini API continues only what it made and still keeps, by its address; the account that made it is the host's to remember.

use gatehouse_sdk::{Parent, UnixMs};
use serde::{Deserialize, Serialize};

use crate::words::{Aspect, Dialect, Model, People, Resolution};

/// The private record of a finished video.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) model: Model,
    pub(crate) dialect: Dialect,
    /// Where the provider keeps the first video: `gs://...` or an address of the Gemini API.
    pub(crate) uri: Option<String>,
    /// Until when it does; absent: as long as the operator's bucket says.
    pub(crate) until: Option<UnixMs>,
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
