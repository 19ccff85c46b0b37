//! Makes pictures off the async threads, and keeps the latest. And the base64 that pictures of requests come in.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use gatehouse_sandbox_files::Picture;

/// Pictures kept: a picture is usually fetched soon after it was made, or never again.
const KEPT: usize = 32;

/// The standard alphabet; padding may be left out, as the examples of providers do.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The latest pictures.
#[derive(Default)]
pub(crate) struct PictureCache {
    ready: Mutex<VecDeque<(Picture, Bytes)>>,
}

impl PictureCache {
    /// The file of `picture`, or `None` when it cannot be made.
    pub(crate) async fn file(&self, picture: Picture) -> Option<Bytes> {
        if let Some(file) = self.kept(&picture) {
            return Some(file);
        }
        let made = tokio::task::spawn_blocking(move || picture.encode()).await.ok()?;
        let file = Bytes::from(made.inspect_err(|error| tracing::error!(%error, "sandbox picture")).ok()?);
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.truncate(KEPT - 1);
        ready.push_front((picture, file.clone()));
        Some(file)
    }

    fn kept(&self, picture: &Picture) -> Option<Bytes> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.iter().find(|(kept, _)| kept == picture).map(|(_, file)| file.clone())
    }
}

#[cfg(test)]
mod tests {
    use image::ImageFormat;

    use super::*;

    fn picture(tint: u8) -> Picture {
        Picture { width: 4, height: 4, format: ImageFormat::Png, digest: [tint; 32] }
    }

    #[tokio::test]
    async fn the_cache_drops_the_oldest() {
        let pictures = PictureCache::default();
        let first = pictures.file(picture(0)).await.expect("made");
        for tint in 1..=u8::try_from(KEPT).expect("small") {
            pictures.file(picture(tint)).await.expect("made");
        }
        assert!(pictures.kept(&picture(0)).is_none());
        assert!(pictures.kept(&picture(1)).is_some());
        assert_eq!(pictures.file(picture(0)).await.expect("made"), first);
    }
}
