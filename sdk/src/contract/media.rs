//! Media as a family reads them: sources, facts about them, and results to be copied. Never bytes.

pub use gatehouse_contract::{Clip, Edit, Tile};

use super::json::{self, Extra};
use crate::bindings::exports::gatehouse::family::jobs;
pub use crate::bindings::exports::gatehouse::family::jobs::{Finding, Probe};
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
/// assert_eq!(Probe::scaled("blob:k7", (640, 480)).source, "blob:k7:png:640x480");
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

    /// Asks for a picture of the task, `blob:<id>`, as a PNG of those pixels, which becomes a blob of its own: as a viewer
    /// shows it, with 8 bits a channel, and black where it is transparent.
    #[must_use]
    pub fn scaled(blob: &str, (width, height): (u32, u32)) -> Self {
        Self::keep(format!("{blob}:png:{width}x{height}"))
    }
}

/// A result the host copies into its own store before clients see it.
///
/// ```
/// use gatehouse_sdk::{Edit, Product};
///
/// let upper_left = Product::new("https://cdn.example.com/grid.png").mime("image/png").tile(0, 0, 2, 2);
/// assert!(matches!(upper_left.edit, Some(Edit::Tile(_))));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// A http(s) URL inside the provider's media origins, a `data:` URI or `blob:<id>`.
    pub source: String,
    /// What to call it when the bytes do not say.
    pub mime: Option<String>,
    /// The part of it that is kept; without one, all of it.
    pub edit: Option<Edit>,
    /// What a later host is told besides.
    pub extra: Extra,
}

impl From<Product> for jobs::Product {
    fn from(product: Product) -> Self {
        let edit = |edit| serde_json::to_string(&edit).expect("an edit is JSON");
        Self {
            source: product.source,
            mime: product.mime,
            edit: product.edit.map(edit),
            extra: json::extra(product.extra),
        }
    }
}

impl Product {
    /// All of a source.
    #[must_use]
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), mime: None, edit: None, extra: Extra::new() }
    }

    /// Says what to call it when the bytes do not.
    #[must_use]
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime = Some(mime.into());
        self
    }

    /// Only one picture of a grid, counted from 0.
    #[must_use]
    pub fn tile(mut self, column: u8, row: u8, columns: u8, rows: u8) -> Self {
        self.edit = Some(Edit::Tile(Tile { column, row, columns, rows }));
        self
    }

    /// Only a span of an mp4 video, ms. It begins at the last sync sample that is not after `from`.
    #[must_use]
    pub fn clip(mut self, from: u64, to: Option<u64>) -> Self {
        self.edit = Some(Edit::Clip(Clip { from_ms: from, to_ms: to }));
        self
    }
}
