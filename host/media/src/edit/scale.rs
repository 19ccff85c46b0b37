//! A picture as a PNG of other pixels: what a provider wants that takes a picture in one size and format only, such as
//! the file that says where another picture is painted again.

use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, Rgba};

use crate::edit::tile::{decoded, encoded, format_of};

/// Bytes of a pixel at most, decoded: four channels of 16 bits.
const PIXEL: u64 = 8;

/// The picture of `width` x `height` pixels, as a viewer shows it, with 8 bits a channel, black where it is
/// transparent; neither the source nor the result takes more than `most` bytes decoded.
///
/// # Errors
/// Why it cannot be had so, in words a client may read.
pub(crate) fn scaled(source: &[u8], (width, height): (u32, u32), most: u64) -> Result<Vec<u8>, String> {
    let format =
        format_of(source).map_err(|came| format!("expected a PNG, JPEG or WebP picture, got {came}"))?;
    if width == 0 || height == 0 || u64::from(width) * u64::from(height) > most / PIXEL {
        return Err(format!("a picture of {width} x {height} pixels cannot be made"));
    }
    let (picture, profile) = decoded(source, format, most)?;
    let mut picture = plain(picture);
    if (picture.width(), picture.height()) != (width, height) {
        picture = picture.resize_exact(width, height, FilterType::Triangle);
    }
    encoded(&picture, ImageFormat::Png, profile)
        .map_err(|error| format!("the picture could not be written: {error}"))
}

/// What every reader of pictures takes: no palette, no transparency, nothing deeper than 8 bits.
fn plain(picture: DynamicImage) -> DynamicImage {
    let has_color = picture.color().has_color();
    let mut opaque = picture.into_rgba8();
    for Rgba([red, green, blue, alpha]) in opaque.pixels_mut() {
        for channel in [red, green, blue] {
            *channel = u8::try_from(u16::from(*channel) * u16::from(*alpha) / 255).unwrap_or(u8::MAX);
        }
        *alpha = u8::MAX;
    }
    let opaque = DynamicImage::from(opaque);
    if has_color { opaque.into_rgb8().into() } else { opaque.into_luma8().into() }
}

#[cfg(test)]
mod tests {
    use image::{GrayAlphaImage, GrayImage, ImageBuffer, Luma, LumaA};

    use super::*;
    use crate::tests::{file_of, with_metadata};

    const PLENTY: u64 = 64 * 1024 * 1024;
    /// White on the left half, black or transparent on the right one; made by hand, as no encoder here writes them.
    const PALETTE: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAABlBMVEX///8AAABVwtN+AAAAKklEQVR42u3MQREAAAwCINe/9CL49yAASXFFBAKBQCAQCAQCgUAgEKwHD5QACAGx6jEAAAAAAElFTkSuQmCC";
    const PALETTE_WITH_ALPHA: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAABlBMVEX///////9VfPVsAAAAAnRSTlP/AOW3MEoAAAAqSURBVHja7cxBEQAADAIg17/0Ivj3IABJcUUEAoFAIBAIBAKBQCAQrAcPlAAIAbHqMQAAAAAASUVORK5CYII=";
    const INTERLACED: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAAH1FXzlAAAAGklEQVR42mP4wIAf/megEgLikUWAqVEGdgYAYZIGGG7WB78AAAAASUVORK5CYII=";
    const ANIMATED: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAACGFjVEwAAAACAAAAAPONk3AAAAAaZmNUTAAAAAAAAABAAAAAQAAAAAAAAAAAAAEACgAAs5X8NQAAACpJREFUeNrtzEERAAAMAiD7l94i+PcgALkijUAgEAgEAoFAIBAIBIL14AFjHvhquU4a3gAAABpmY1RMAAAAAQAAAEAAAABAAAAAAAAAAAAAAQAKAAAo5hbhAAAALWZkQVQAAAACeNrtzEERAAAMAiD7l9YQ++0gAOlRBAKBQCAQCAQCgUAgEHwPBqcL8OKoNoskAAAAAElFTkSuQmCC";
    const CMYK: &str = "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI/8AAFAgAQABABAERAAIRAAMRAAQRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAAHCP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBAEAAgADAAQAAD8Av6/r+v4AAAADAAAAAADf4AAAADAAAAAADf4AAAADAAAAAADf4AAAADAAAAAADf4AAAADAAAAAADf4AAAADAAAAAADf4AAAADAAAAAADf4AAAADAAAAAD/9k=";

    fn base64(text: &str) -> Vec<u8> {
        gatehouse_contract::decode_base64(text.as_bytes()).unwrap()
    }

    /// White on the left half, black on the right one.
    fn halves(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
        let level = |x, _| Luma([if x < width / 2 { 255 } else { 0 }]);
        let picture = DynamicImage::ImageLuma8(GrayImage::from_fn(width, height, level));
        let picture = if format == ImageFormat::WebP { picture.to_rgb8().into() } else { picture };
        file_of(&picture, format)
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

    /// Without it a file of a rarer kind reaches the provider, which paints elsewhere or refuses it.
    #[test]
    fn every_kind_of_picture_becomes_a_plain_one() {
        let is_left = |x: u32| x < 32;
        let level = |x| if is_left(x) { 255_u8 } else { 0 };
        let gray = DynamicImage::from(GrayImage::from_fn(64, 64, |x, _| Luma([level(x)])));
        let png = |picture: DynamicImage| file_of(&picture, ImageFormat::Png);
        let deep = ImageBuffer::<Luma<u16>, _>::from_fn(64, 64, |x, _| Luma([u16::from(level(x)) * 257]));
        let pierced = GrayAlphaImage::from_fn(64, 64, |x, _| LumaA([255, level(x)]));
        let deep_pierced = ImageBuffer::<Rgba<u16>, _>::from_fn(64, 64, |x, _| {
            Rgba([0xffff, 0xffff, 0xffff, u16::from(level(x)) * 257])
        });
        for (kind, source) in [
            ("16 bits", png(deep.into())),
            ("grey with alpha", png(pierced.into())),
            ("16 bits with alpha", png(deep_pierced.into())),
            ("a palette", base64(PALETTE)),
            ("a palette with transparency", base64(PALETTE_WITH_ALPHA)),
            ("two levels, interlaced", base64(INTERLACED)),
            ("an animation", base64(ANIMATED)),
            ("CMYK", base64(CMYK)),
            ("turned by half", with_metadata(&gray.to_rgb8(), ImageFormat::Png, None, Some(3))),
        ] {
            let made = scaled(&source, (64, 64), PLENTY).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let made = image::load_from_memory_with_format(&made, ImageFormat::Png).unwrap();
            assert!(
                matches!(made, DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_)),
                "{kind}: {:?}",
                made.color()
            );
            let made = made.to_luma8();
            let (left, right) = (made.get_pixel(8, 32).0[0], made.get_pixel(56, 32).0[0]);
            let expected = if kind == "turned by half" { (0, 255) } else { (255, 0) };
            assert!(
                left.abs_diff(expected.0) < 8 && right.abs_diff(expected.1) < 8,
                "{kind}: {left} {right}"
            );
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
