//! Facts for scripts to find.

use gatehouse_sdk::{Facts, MediaKind};

/// A PNG of that size, kept by the host as `blob`.
///
/// ```
/// let facts = gatehouse_testkit::picture(640, 480, "blob:1");
/// assert_eq!(facts.pixels(), Some(307_200));
/// ```
#[must_use]
pub fn picture(width: u32, height: u32, blob: &str) -> Facts {
    Facts {
        width: Some(width),
        height: Some(height),
        has_alpha: Some(false),
        blob: Some(blob.to_owned()),
        ..Facts::new(MediaKind::Image, "image/png", 1_000)
    }
}
