//! A picture as a PNG of other pixels: what a provider wants that takes a picture in one size and format only, such as
//! the file that says where another picture is painted again.

use image::ImageFormat;
use image::imageops::FilterType;

use crate::edit::tile::{decoded, encoded, format_of};

/// Bytes of a pixel at most, decoded: four channels of 16 bits.
const PIXEL: u64 = 8;

/// The picture of `width` x `height` pixels, as a viewer shows it; neither the source nor the result takes more than
/// `most` bytes decoded.
///
/// # Errors
/// Why it cannot be had so, in words a client may read.
pub(crate) fn scaled(source: &[u8], (width, height): (u32, u32), most: u64) -> Result<Vec<u8>, String> {
    let format =
        format_of(source).map_err(|came| format!("expected a PNG, JPEG or WebP picture, got {came}"))?;
    if width == 0 || height == 0 || u64::from(width) * u64::from(height) > most / PIXEL {
        return Err(format!("a picture of {width} x {height} pixels cannot be made"));
    }
    let (mut picture, profile) = decoded(source, format, most)?;
    if (picture.width(), picture.height()) != (width, height) {
        picture = picture.resize_exact(width, height, FilterType::Triangle);
    }
    encoded(&picture, ImageFormat::Png, profile)
        .map_err(|error| format!("the picture could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{DynamicImage, GrayImage, Luma};

    use super::*;

    const PLENTY: u64 = 64 * 1024 * 1024;

    /// White on the left half, black on the right one.
    fn halves(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
        let level = |x, _| Luma([if x < width / 2 { 255 } else { 0 }]);
        let picture = DynamicImage::ImageLuma8(GrayImage::from_fn(width, height, level));
        let picture = if format == ImageFormat::WebP { picture.to_rgb8().into() } else { picture };
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// Without it a file of another size or format would reach a provider that refuses it.
    #[test]
    fn every_format_becomes_a_png_of_the_wanted_pixels() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            for (from, to) in [((64, 64), (64, 64)), ((64, 48), (128, 128)), ((300, 200), (31, 17))] {
                let png = scaled(&halves(format, from.0, from.1), to, PLENTY).unwrap();
                let picture = image::load_from_memory_with_format(&png, ImageFormat::Png).unwrap().to_luma8();
                assert_eq!(picture.dimensions(), to, "{format:?} {from:?}");
                let (left, right) = (picture.get_pixel(1, 1).0[0], picture.get_pixel(to.0 - 2, 1).0[0]);
                assert!(left > 250 && right < 5, "{format:?} {from:?} {to:?}: {left} {right}");
            }
        }
    }

    /// Without it one request could make the gateway decode or write a picture of any size.
    #[test]
    fn what_cannot_be_had_is_told() {
        let broken = &halves(ImageFormat::Png, 64, 64)[..60];
        for (source, size, most, expected) in [
            (&b"GIF89a......"[..], (8, 8), PLENTY, "expected a PNG, JPEG or WebP picture, got image/gif"),
            (b"<html>", (8, 8), PLENTY, "expected a PNG, JPEG or WebP picture, got bytes of no known kind"),
            (broken, (8, 8), PLENTY, "the picture is broken"),
            (&halves(ImageFormat::Png, 64, 64), (0, 8), PLENTY, "a picture of 0 x 8 pixels cannot be made"),
            (&halves(ImageFormat::Png, 64, 64), (64, 64), 4096, "cannot be made"),
            (&halves(ImageFormat::Png, 640, 640), (8, 8), 4096, "at most 0 MiB are allowed"),
        ] {
            let error = scaled(source, size, most).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
