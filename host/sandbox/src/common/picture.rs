//! Makes pictures: real PNG, JPEG and WebP files of an exact size, drawn from a digest.
//!
//! The same digest, size and format give the same bytes. Different digests give visibly different pictures: a slanted
//! gradient in two colours under a mirrored pattern of tiles. Rows are copied from strips made once, so drawing is
//! cheap in unoptimised builds too. Never draws text, never reads a file.

use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageError, ImageFormat as Format};

/// Pictures kept: a picture is usually fetched soon after it was made, or never again.
const KEPT: usize = 32;
/// Tiles of the pattern along each side.
const TILES: usize = 8;

/// The format of that name, as requests and file extensions spell it: `jpeg`, `png` or `webp`.
pub(crate) fn format_named(name: &str) -> Option<Format> {
    [Format::Jpeg, Format::Png, Format::WebP].into_iter().find(|format| format_name(*format) == name)
}

pub(crate) fn format_name(format: Format) -> &'static str {
    format.to_mime_type().trim_start_matches("image/")
}

/// A picture to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) format: Format,
    /// Decides colours and pattern.
    pub(crate) digest: [u8; 32],
}

impl Picture {
    /// The file. Fails only for sizes a format cannot hold (WebP: 16383 a side).
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ImageError> {
        let pixels = self.draw();
        let mut file = Cursor::new(Vec::new());
        let (width, height, colour) = (self.width, self.height, ExtendedColorType::Rgb8);
        match self.format {
            Format::Jpeg => {
                JpegEncoder::new_with_quality(&mut file, 85).write_image(&pixels, width, height, colour)
            }
            Format::Png => PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Sub)
                .write_image(&pixels, width, height, colour),
            other => image::write_buffer_with_format(&mut file, &pixels, width, height, colour, other),
        }?;
        Ok(file.into_inner())
    }

    /// RGB, row by row.
    fn draw(&self) -> Vec<u8> {
        let (width, height) = (self.width as usize, self.height as usize);
        let d = &self.digest;
        let ground = strip([d[0], d[1], d[2]], [d[3], d[4], d[5]], width + height);
        let tiles = strip([d[6], d[7], d[8]], [!d[0], !d[1], !d[2]], width + height);
        let mut pixels = Vec::with_capacity(width * height * 3);
        for y in 0..height {
            let start = pixels.len();
            pixels.extend_from_slice(&ground[y * 3..(y + width) * 3]);
            let row = &mut pixels[start..];
            let marks = d[16 + (y * TILES / height)];
            for tile in (0..TILES).filter(|&tile| marks >> tile.min(TILES - 1 - tile) & 1 == 1) {
                let (from, to) = (tile * width / TILES * 3, (tile + 1) * width / TILES * 3);
                row[from..to].copy_from_slice(&tiles[y * 3 + from..y * 3 + to]);
            }
        }
        pixels
    }
}

/// A strip of `length` pixels that goes from one colour to the other in steps wide enough to compress well.
fn strip(from: [u8; 3], to: [u8; 3], length: usize) -> Vec<u8> {
    let steps = 96;
    let mix = |a: u8, b: u8, step: usize| {
        u8::try_from((usize::from(a) * (steps - step) + usize::from(b) * step) / steps)
            .expect("a mean of two bytes is a byte")
    };
    (0..length)
        .flat_map(|at| {
            let step = at * steps / length;
            [mix(from[0], to[0], step), mix(from[1], to[1], step), mix(from[2], to[2], step)]
        })
        .collect()
}

/// Makes pictures off the async threads and keeps the latest.
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
    use super::*;

    fn picture(width: u32, height: u32, format: Format, tint: u8) -> Picture {
        Picture { width, height, format, digest: [tint; 32] }
    }

    #[test]
    fn files_are_of_their_kind_and_size() {
        for format in [Format::Jpeg, Format::Png, Format::WebP] {
            for (width, height) in [(1, 1), (3, 200), (200, 3), (7, 9), (320, 240)] {
                let file = picture(width, height, format, 90).encode().expect("encodes");
                assert_eq!(image::guess_format(&file).expect("known"), format);
                let decoded = image::load_from_memory_with_format(&file, format).expect("decodes");
                assert_eq!((decoded.width(), decoded.height()), (width, height), "{format:?}");
            }
        }
    }

    #[test]
    fn the_digest_decides_the_bytes() {
        let one = picture(64, 48, Format::Png, 1).encode().expect("encodes");
        assert_eq!(one, picture(64, 48, Format::Png, 1).encode().expect("encodes"));
        assert_ne!(one, picture(64, 48, Format::Png, 2).encode().expect("encodes"));
    }

    #[tokio::test]
    async fn the_cache_drops_the_oldest() {
        let pictures = PictureCache::default();
        let first = pictures.file(picture(4, 4, Format::Png, 0)).await.expect("made");
        for tint in 1..=u8::try_from(KEPT).expect("small") {
            pictures.file(picture(4, 4, Format::Png, tint)).await.expect("made");
        }
        assert!(pictures.kept(&picture(4, 4, Format::Png, 0)).is_none());
        assert!(pictures.kept(&picture(4, 4, Format::Png, 1)).is_some());
        assert_eq!(pictures.file(picture(4, 4, Format::Png, 0)).await.expect("made"), first);
    }
}
