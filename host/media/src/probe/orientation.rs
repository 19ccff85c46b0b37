//! Whether a viewer turns a picture on its side: by the orientation of its EXIF block, wherever a format keeps that. Pure.

use image::metadata::Orientation;

use crate::probe::facts::png_chunks;
use crate::probe::wav::riff_chunks;

/// What begins an EXIF block in a JPEG file, and by mistake in some others.
const LEAD: &[u8] = b"Exif\0\0";

/// Whether width and height change places when the picture is shown.
pub(crate) fn is_turned(bytes: &[u8], mime: &str) -> bool {
    let block = match mime {
        "image/jpeg" => of_jpeg(bytes),
        "image/png" => of_png(bytes),
        "image/webp" => of_webp(bytes),
        "image/tiff" => Some(bytes),
        _ => None,
    };
    let block = block.map(|block| block.strip_prefix(LEAD).unwrap_or(block));
    let orientation = block.and_then(Orientation::from_exif_chunk);
    matches!(
        orientation,
        Some(
            Orientation::Rotate90
                | Orientation::Rotate270
                | Orientation::Rotate90FlipH
                | Orientation::Rotate270FlipH
        )
    )
}

/// Whether the orientation may stand behind the picture's own data, so that the beginning of the file does not tell it.
pub(crate) fn may_follow(begin: &[u8], mime: &str) -> bool {
    let is_extended = begin.get(12..16) == Some(b"VP8X");
    let has_exif = begin.get(20).is_some_and(|flags| flags & 0x08 != 0);
    mime == "image/webp" && is_extended && has_exif && of_webp(begin).is_none()
}

/// The first segment APP1 that is EXIF, before the picture's data.
fn of_jpeg(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 2;
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        if mark != 0xff || kind == 0xda {
            return None;
        }
        if kind == 0xff {
            // A byte that fills.
            at += 1;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().ok()?));
        let end = at + 2 + length.max(2);
        match bytes.get(at + 4..end)? {
            block if kind == 0xe1 && block.starts_with(LEAD) => return Some(block),
            _ => at = end,
        }
    }
}

/// The chunk `eXIf` (PNG 11.3.4.5).
fn of_png(bytes: &[u8]) -> Option<&[u8]> {
    let mut chunks = png_chunks(bytes).take_while(|(kind, _)| kind != b"IEND");
    chunks.find(|(kind, _)| kind == b"eXIf").and_then(|(_, content)| bytes.get(content))
}

/// The chunk `EXIF` of the container (WebP container specification).
fn of_webp(bytes: &[u8]) -> Option<&[u8]> {
    riff_chunks(bytes).find(|(kind, _)| kind == b"EXIF").and_then(|(_, content)| bytes.get(content))
}

#[cfg(test)]
pub(crate) mod tests {
    use image::{ImageFormat, RgbImage};

    use super::*;
    use crate::probe::facts::facts;
    use crate::tests::with_metadata;

    pub(crate) fn oriented(format: ImageFormat, (width, height): (u32, u32), orientation: u8) -> Vec<u8> {
        with_metadata(&RgbImage::new(width, height), format, None, Some(orientation))
    }

    /// Without it the output of `size: auto` lies on its side for photos of a phone that was held upright.
    #[test]
    fn facts_are_those_of_the_picture_as_it_is_shown() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            for orientation in 1..=8 {
                let found = facts(&oriented(format, (40, 30), orientation));
                let expected = if orientation > 4 { (30, 40) } else { (40, 30) };
                let size = found.width.zip(found.height);
                assert_eq!(size, Some(expected), "{format:?} {orientation}");
            }
        }
    }

    #[test]
    fn an_orientation_behind_the_data_is_waited_for() {
        let whole = oriented(ImageFormat::WebP, (40, 30), 6);
        let begin = &whole[..whole.len() - 20];
        assert!(may_follow(begin, "image/webp") && !may_follow(&whole, "image/webp"));
        assert!(!may_follow(&oriented(ImageFormat::Png, (40, 30), 6)[..40], "image/png"));
    }

    #[test]
    fn broken_files_have_none() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let whole = oriented(format, (40, 30), 6);
            for end in 0..whole.len() {
                assert_eq!(facts(&whole[..end]).bytes, end as u64);
            }
        }
        assert!(!is_turned(b"\xff\xd8\xff\xff\xff\xff", "image/jpeg"));
        assert!(!is_turned(b"\xff\xd8\xff\xe1\0\0", "image/jpeg"));
    }
}
