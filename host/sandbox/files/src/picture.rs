//! Makes pictures: real PNG, JPEG and WebP files of an exact size, drawn from a digest.
//!
//! The same digest, size and format give the same bytes. Different digests give visibly different pictures: a slanted
//! gradient in two colours under a mirrored pattern of tiles. Rows are copied from strips made once, so drawing is
//! cheap in unoptimised builds too. Never draws text, never reads a file.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageError, ImageFormat as Format};

/// Tiles of the pattern along each side.
const TILES: usize = 8;

/// The format of that name, as requests and file extensions spell it: `jpeg`, `png` or `webp`.
pub fn format_named(name: &str) -> Option<Format> {
    [Format::Jpeg, Format::Png, Format::WebP].into_iter().find(|format| format_name(*format) == name)
}

/// As requests and file extensions spell it; see [`format_named`].
#[must_use]
pub fn format_name(format: Format) -> &'static str {
    format.to_mime_type().trim_start_matches("image/")
}

/// A picture to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// In pixels.
    pub width: u32,
    /// As `width`.
    pub height: u32,
    /// JPEG, PNG or WebP.
    pub format: Format,
    /// Decides colours and pattern.
    pub digest: [u8; 32],
}

impl Picture {
    /// The file.
    ///
    /// # Errors
    /// For sizes that a format cannot hold (WebP: 16383 a side).
    pub fn encode(&self) -> Result<Vec<u8>, ImageError> {
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
