//! What a piece of media is, by its own bytes. Declared types are never asked. Pure.

use std::ops::Range;

use gatehouse_contract::type_of;
use gatehouse_model::{Facts, MediaKind};

use crate::probe::{length, mp4, orientation, wav};

/// Types by name, with the extension their files get. The first of a type is the one written.
const TYPES: &[(&str, &str, MediaKind)] = &[
    ("image/png", "png", MediaKind::Image),
    ("image/jpeg", "jpg", MediaKind::Image),
    ("image/webp", "webp", MediaKind::Image),
    ("image/gif", "gif", MediaKind::Image),
    ("image/bmp", "bmp", MediaKind::Image),
    ("image/tiff", "tiff", MediaKind::Image),
    ("image/avif", "avif", MediaKind::Image),
    ("image/heic", "heic", MediaKind::Image),
    ("video/mp4", "mp4", MediaKind::Video),
    ("video/quicktime", "mov", MediaKind::Video),
    ("video/webm", "webm", MediaKind::Video),
    ("video/x-matroska", "mkv", MediaKind::Video),
    ("audio/mpeg", "mp3", MediaKind::Audio),
    ("audio/wav", "wav", MediaKind::Audio),
    ("audio/mp4", "m4a", MediaKind::Audio),
    ("audio/aac", "aac", MediaKind::Audio),
    ("audio/flac", "flac", MediaKind::Audio),
    ("audio/ogg", "ogg", MediaKind::Audio),
];

/// What is known of these bytes. Anything unrecognised is `Other`, `application/octet-stream`.
#[must_use]
pub fn facts(bytes: &[u8]) -> Facts {
    let mime = type_of(bytes).unwrap_or(UNKNOWN);
    let kind = kind(mime);
    let mut facts = Facts {
        kind,
        mime: mime.to_owned(),
        bytes: bytes.len() as u64,
        width: None,
        height: None,
        milliseconds: None,
        fps_milli: None,
        has_audio: None,
        has_alpha: None,
        blob: None,
    };
    match (kind, mime) {
        (MediaKind::Image, _) => image(bytes, mime, &mut facts),
        (_, "video/mp4" | "video/quicktime" | "audio/mp4") => mp4::describe(bytes, &mut facts),
        (_, "audio/wav") => facts.milliseconds = wav::milliseconds(bytes),
        (MediaKind::Audio, _) => facts.milliseconds = length::milliseconds(bytes, mime),
        _ => {}
    }
    if facts.kind == MediaKind::Audio {
        facts.has_audio = Some(true);
    }
    facts
}

/// The type of what nothing is known about.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// The kind a type belongs to.
pub(crate) fn kind(mime: &str) -> MediaKind {
    TYPES.iter().find(|(name, ..)| *name == mime).map_or(MediaKind::Other, |(.., kind)| *kind)
}

/// The extension of a type's files.
pub(crate) fn extension(mime: &str) -> &'static str {
    TYPES.iter().find(|(name, ..)| *name == mime).map_or("bin", |(_, extension, _)| *extension)
}

/// The type of files with this extension; `None` for one that is never written here.
pub(crate) fn type_of_extension(extension: &str) -> Option<&'static str> {
    if extension == "bin" {
        return Some(UNKNOWN);
    }
    TYPES.iter().find(|(_, known, _)| *known == extension).map(|(name, ..)| *name)
}

/// Width and height are those of the picture as a viewer shows it.
fn image(bytes: &[u8], mime: &str, facts: &mut Facts) {
    if let Ok(size) = imagesize::blob_size(bytes) {
        facts.width = u32::try_from(size.width).ok();
        facts.height = u32::try_from(size.height).ok();
        if orientation::is_turned(bytes, mime) {
            std::mem::swap(&mut facts.width, &mut facts.height);
        }
    }
    facts.has_alpha = match mime {
        "image/png" => png_alpha(bytes),
        "image/webp" => webp_alpha(bytes),
        "image/jpeg" => Some(false),
        _ => None,
    };
}

/// By the colour type, or by a transparency chunk before the picture (PNG 11.2.1, 11.3.1.1).
fn png_alpha(bytes: &[u8]) -> Option<bool> {
    if matches!(bytes.get(25)?, 4 | 6) {
        return Some(true);
    }
    let mut kinds = png_chunks(bytes).map(|(kind, _)| kind);
    kinds.find(|kind| matches!(kind, b"tRNS" | b"IDAT" | b"IEND")).map(|kind| kind == *b"tRNS")
}

/// Kind and content of each chunk of a PNG file (PNG 5.3); of the last one the content may end behind the file.
pub(super) fn png_chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], Range<usize>)> {
    let mut at = 8_usize;
    std::iter::from_fn(move || {
        let [a, b, c, d, kind @ ..] = *bytes.get(at..)?.first_chunk::<8>()?;
        let begin = at + 8;
        let end = begin.saturating_add(u32::from_be_bytes([a, b, c, d]) as usize);
        // A checksum follows.
        at = end.saturating_add(4);
        Some((kind, begin..end))
    })
}

/// By the flag of the extended header, or of the lossless header (WebP container specification).
fn webp_alpha(bytes: &[u8]) -> Option<bool> {
    match bytes.get(12..16)? {
        b"VP8X" => Some(bytes.get(20)? & 0x10 != 0),
        b"VP8L" => Some(bytes.get(24)? & 0x10 != 0),
        b"VP8 " => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::file_of;

    /// Without it a drawing behind a link is refused as a file of no type, and one that is embedded by its name.
    #[test]
    fn a_drawing_and_a_document_are_called_by_their_names() {
        for (bytes, mime) in [
            (&b"<svg xmlns='x'/>"[..], "image/svg+xml"),
            (b"\xef\xbb\xbf<?xml version='1.0'?>\n<svg/>", "image/svg+xml"),
            (b"<?xml version='1.0'?><html/>", UNKNOWN),
            (b"%PDF-1.7", "application/pdf"),
            (b"%PD", UNKNOWN),
        ] {
            let facts = facts(bytes);
            assert_eq!((facts.mime.as_str(), facts.kind), (mime, MediaKind::Other), "{bytes:?}");
        }
    }

    #[test]
    fn every_type_has_an_extension_that_leads_back() {
        for (mime, extension, kind) in TYPES {
            assert_eq!(type_of_extension(extension), Some(*mime));
            assert_eq!(super::extension(mime), *extension);
            assert_eq!(super::kind(mime), *kind);
        }
        assert_eq!(type_of_extension(extension("text/html")), Some(UNKNOWN));
    }

    #[test]
    fn pictures_tell_size_and_transparency() {
        use image::{DynamicImage, ImageFormat};
        for (picture, format, mime, alpha) in [
            (DynamicImage::new_rgb8(31, 17), ImageFormat::Png, "image/png", false),
            (DynamicImage::new_rgba8(31, 17), ImageFormat::Png, "image/png", true),
            (DynamicImage::new_luma_a8(31, 17), ImageFormat::Png, "image/png", true),
            (DynamicImage::new_luma8(31, 17), ImageFormat::Png, "image/png", false),
            (DynamicImage::new_rgb8(31, 17), ImageFormat::Jpeg, "image/jpeg", false),
            (DynamicImage::new_rgb8(31, 17), ImageFormat::WebP, "image/webp", false),
            (DynamicImage::new_rgba8(31, 17), ImageFormat::WebP, "image/webp", true),
        ] {
            let bytes = file_of(&picture, format);
            let facts = facts(&bytes);
            assert_eq!((facts.width, facts.height), (Some(31), Some(17)), "{mime}");
            assert_eq!((facts.kind, facts.mime.as_str()), (MediaKind::Image, mime));
            assert_eq!((facts.bytes, facts.has_alpha), (bytes.len() as u64, Some(alpha)), "{mime}");
        }
    }

    proptest::proptest! {
        /// Whatever follows a real beginning, facts are found or left open, never a panic.
        #[test]
        fn no_input_makes_it_panic(start in 0_usize..16, rest: Vec<u8>) {
            let heads: [&[u8]; 16] = [
                b"ID3\x04\0\0\0\0\0\0\xff\xfb\x14\xc0", b"\xff\xfb\x90\x64", b"\xff\xf1\x50", b"fLaC\0\0\0\x22", b"OggS\0\x02",
                b"\0\0\0\x08ftypisom\0\0\0\0moof",
                b"", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8X",
                b"RIFF\0\0\0\0WAVEfmt ", b"\0\0\0\x08ftypisom", b"\0\0\0\x0cftypisom\0\0\0\0moov", b"II*\0", b"\0\0\0\x18ftypavif",
            ];
            let bytes = [heads[start], &rest].concat();
            proptest::prop_assert_eq!(facts(&bytes).bytes, bytes.len() as u64);
        }
    }
}
