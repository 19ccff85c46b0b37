//! What the host finds out about media. Shapes only; `media` looks.

use serde::{Deserialize, Serialize};

/// What a piece of media is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaKind {
    /// A still picture.
    Image,
    /// Moving pictures.
    Video,
    /// Sound.
    Audio,
    /// Anything else.
    Other,
}

/// What the host found out about a piece of media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its kind.
    pub kind: MediaKind,
    /// Its type by its own bytes.
    pub mime: String,
    /// Its length.
    pub bytes: u64,
    /// Pixels.
    pub width: Option<u32>,
    /// Pixels.
    pub height: Option<u32>,
    /// Length in time.
    pub milliseconds: Option<u64>,
    /// Frames per 1000 seconds.
    pub fps_milli: Option<u32>,
    /// Whether it has a sound track.
    pub has_audio: Option<bool>,
    /// Whether it has transparency.
    pub has_alpha: Option<bool>,
    /// `blob:<id>` when the host keeps the bytes for this task.
    pub blob: Option<String>,
}
