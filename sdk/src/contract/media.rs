//! Media as a family reads them: sources, facts about them, and results to be copied. Never bytes.

pub use crate::bindings::exports::gatehouse::family::jobs::{Finding, Probe, Product};
pub use crate::bindings::gatehouse::family::types::{Facts, MediaKind};

/// Builders.
///
/// ```
/// use gatehouse_sdk::{Facts, MediaKind};
///
/// let facts = Facts { width: Some(640), height: Some(480), ..Facts::new(MediaKind::Image, "image/png", 9_000) };
/// assert_eq!(facts.pixels(), Some(307_200));
/// ```
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

/// Builders.
///
/// ```
/// use gatehouse_sdk::Probe;
///
/// assert!(!Probe::look("https://example.com/a.png").keep);
/// assert!(Probe::keep("https://example.com/a.png").keep);
/// ```
impl Probe {
    /// Asks for facts.
    #[must_use]
    pub fn look(source: impl Into<String>) -> Self {
        Self { source: source.into(), keep: false }
    }

    /// Asks for facts, and for the bytes as a blob of the task, so that they can go into a call.
    #[must_use]
    pub fn keep(source: impl Into<String>) -> Self {
        Self { source: source.into(), keep: true }
    }
}
