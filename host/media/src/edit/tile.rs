//! One picture of a grid: decoded, cut, encoded as what it was.
//!
//! PNG and WebP are written without loss (WebP only has a lossless encoder here, so a tile of a lossy WebP is larger
//! than its share), JPEG at quality 95 without subsampling. The picture is cut as a viewer shows it: an EXIF
//! orientation is applied. A colour profile stays; other metadata and further frames of an animation do not.
//!
//! The size in memory is checked by the picture's own header before anything is decoded. Decoders take up to about
//! three times that (progressive JPEG).

use std::io::Cursor;

use gatehouse_contract::sniff;
use gatehouse_model::Tile;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits};

const JPEG_QUALITY: u8 = 95;
const MIB: u64 = 1024 * 1024;

/// Cuts a tile out of a picture that takes at most `most` bytes decoded.
///
/// # Errors
/// Why it cannot be cut so, in words a client may read.
pub(crate) fn tile(source: &[u8], tile: &Tile, most: u64) -> Result<Vec<u8>, String> {
    let format = format_of(source)
        .map_err(|came| format!("only a PNG, JPEG or WebP picture has tiles, got {came}"))?;
    let (mut picture, profile) = decoded(source, format, most)?;
    let (x, width) = share(picture.width(), tile.column, tile.columns, "wide", "columns")?;
    let (y, height) = share(picture.height(), tile.row, tile.rows, "high", "rows")?;
    picture = picture.crop_imm(x, y, width, height);
    encoded(&picture, format, profile).map_err(|error| format!("the tile could not be written: {error}"))
}

/// The format of a picture that can be worked on; otherwise what came.
pub(super) fn format_of(source: &[u8]) -> Result<ImageFormat, &'static str> {
    match sniff(source) {
        Some("image/png") => Ok(ImageFormat::Png),
        Some("image/jpeg") => Ok(ImageFormat::Jpeg),
        Some("image/webp") => Ok(ImageFormat::WebP),
        other => Err(other.unwrap_or("bytes of no known kind")),
    }
}

/// Where one of `count` equal parts begins and how long it is; the last takes what remains.
fn share(length: u32, at: u8, count: u8, side: &str, parts: &str) -> Result<(u32, u32), String> {
    let (at, count) = (u32::from(at), u32::from(count));
    let part = length.checked_div(count).filter(|&part| part > 0);
    let part = part.ok_or_else(|| format!("the picture is {length} pixels {side}, got {count} {parts}"))?;
    let start = at * part;
    Ok((start, if at + 1 == count { length - start } else { part }))
}

pub(super) fn decoded(
    source: &[u8],
    format: ImageFormat,
    most: u64,
) -> Result<(DynamicImage, Option<Vec<u8>>), String> {
    let broken = |error: ImageError| format!("the picture is broken: {error}");
    let mut limits = Limits::default();
    // What a decoder needs beside the picture itself.
    limits.max_alloc = Some(most.saturating_mul(2));
    let mut reader = ImageReader::with_format(Cursor::new(source), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let needed = decoder.total_bytes();
    if needed > most {
        let (width, height) = decoder.dimensions();
        let (needed, most) = (needed.div_ceil(MIB), most / MIB);
        return Err(format!(
            "the picture of {width} x {height} pixels takes {needed} MiB decoded, at most {most} MiB are allowed"
        ));
    }
    let orientation = decoder.orientation().map_err(broken)?;
    let profile = decoder.icc_profile().map_err(broken)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    picture.apply_orientation(orientation);
    let space = if picture.color().has_color() { b"RGB " } else { b"GRAY" };
    // A profile of a colour space that the decoder has left (CMYK) no longer holds.
    let profile = profile.filter(|profile| profile.get(16..20) == Some(space));
    Ok((picture, profile))
}

pub(super) fn encoded(
    picture: &DynamicImage,
    format: ImageFormat,
    profile: Option<Vec<u8>>,
) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Png => {
            let quality = (CompressionType::Default, FilterType::Adaptive);
            write(picture, PngEncoder::new_with_quality(&mut bytes, quality.0, quality.1), profile)?;
        }
        ImageFormat::Jpeg => {
            write(picture, JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY), profile)?;
        }
        _ => write(picture, WebPEncoder::new_lossless(&mut bytes), profile)?,
    }
    Ok(bytes)
}

fn write(
    picture: &DynamicImage,
    mut encoder: impl ImageEncoder,
    profile: Option<Vec<u8>>,
) -> Result<(), ImageError> {
    if let Some(profile) = profile {
        encoder.set_icc_profile(profile).map_err(ImageError::Unsupported)?;
    }
    picture.write_with_encoder(encoder)
}
