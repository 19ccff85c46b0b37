//! Media as a family sees them: sources, facts about them, and results to be copied. Never bytes.

use serde::{Deserialize, Serialize};

/// What a piece of media is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
///
/// ```
/// use gatehouse_sdk::{Facts, MediaKind};
///
/// let facts = Facts { width: Some(640), height: Some(480), ..Facts::new(MediaKind::Image, "image/png", 9_000) };
/// assert_eq!(facts.pixels(), Some(307_200));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its kind.
    pub kind: MediaKind,
    /// Its type by its own bytes.
    pub mime: String,
    /// Its length in bytes.
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

impl Facts {
    /// Facts of which only the kind, type and length are known.
    #[must_use]
    pub fn new(kind: MediaKind, mime: impl Into<String>, bytes: u64) -> Self {
        Self {
            kind,
            mime: mime.into(),
            bytes,
            width: None,
            height: None,
            milliseconds: None,
            fps_milli: None,
            has_audio: None,
            has_alpha: None,
            blob: None,
        }
    }

    /// Width times height, when both are known.
    #[must_use]
    pub fn pixels(&self) -> Option<u64> {
        Some(u64::from(self.width?) * u64::from(self.height?))
    }
}

/// A question to the host about a piece of media.
///
/// ```
/// use gatehouse_sdk::Probe;
///
/// assert!(!Probe::look("https://example.com/a.png").keep);
/// assert!(Probe::keep("https://example.com/a.png").keep);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// A http(s) URL, a `data:` URI or `blob:<id>`.
    pub source: String,
    /// Hold the bytes as a blob of this task, so that they can go into a call.
    pub keep: bool,
}

impl Probe {
    /// Only look.
    #[must_use]
    pub fn look(source: impl Into<String>) -> Self {
        Self { source: source.into(), keep: false }
    }

    /// Look, and keep the bytes.
    #[must_use]
    pub fn keep(source: impl Into<String>) -> Self {
        Self { source: source.into(), keep: true }
    }
}

/// The answer to a [`Probe`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The source, as asked.
    pub source: String,
    /// The facts, or why there are none, in words a client may read.
    pub found: Result<Facts, String>,
}

/// A result the host copies into its own store before the task completes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// A http(s) URL inside the provider's media origins, a `data:` URI or `blob:<id>`.
    pub source: String,
    /// What to call it when the bytes do not say.
    pub mime: Option<String>,
}
