//! What a piece of media is, by its own bytes. Declared types are never asked. Pure.

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

/// How a document begins that providers read, and its type.
const PDF: (&[u8], &str) = (b"%PDF-", "application/pdf");

/// A drawing, which is a text. It is called by its name, so that a refusal can name it.
const SVG: &str = "image/svg+xml";

/// The type that bytes tell: of media, of a document, and of a drawing.
pub(crate) fn type_of(bytes: &[u8]) -> Option<&'static str> {
    let pdf = || bytes.starts_with(PDF.0).then_some(PDF.1);
    sniff(bytes).or_else(pdf).or_else(|| is_svg(bytes).then_some(SVG))
}

fn is_svg(bytes: &[u8]) -> bool {
    let head = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let may_be = [&b"<?xml"[..], b"<!--", b"<!DOCTYPE svg"].iter().any(|begin| head.starts_with(begin));
    let element = b"<svg";
    head.starts_with(element)
        || (may_be && memchr::memmem::find(&head[..head.len().min(1 << 10)], element).is_some())
}

/// The type of what nothing is known about.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// Bytes [`sniff`] wants to see when there are as many.
pub(crate) const SNIFFED: usize = 64;

/// The type of media that begin like this; `None` when they are of no kind known here.
pub(crate) fn sniff(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| head.get(offset..offset + magic.len()) == Some(magic);
    Some(match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', ..] if at(8, b"WEBP") => "image/webp",
        [b'R', b'I', b'F', b'F', ..] if at(8, b"WAVE") => "audio/wav",
        // Two letters are too little to go by; the reserved field behind the size is zero in every real file.
        [b'B', b'M', ..] if at(6, &[0; 4]) => "image/bmp",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "image/tiff",
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => brand_type(brand.get(..4)?),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => {
            let webm = memchr::memmem::find(&head[..head.len().min(SNIFFED)], b"webm").is_some();
            if webm { "video/webm" } else { "video/x-matroska" }
        }
        [b'I', b'D', b'3', ..] => "audio/mpeg",
        // MPEG audio frame sync: layer III of MPEG 1, 2 and 2.5.
        [0xff, 0xfa | 0xfb | 0xf2 | 0xf3 | 0xe2 | 0xe3, ..] => "audio/mpeg",
        [0xff, 0xf0 | 0xf1 | 0xf8 | 0xf9, ..] => "audio/aac",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        _ => return None,
    })
}

/// ISO base media files, by their major brand.
fn brand_type(brand: &[u8]) -> &'static str {
    match brand {
        b"qt  " => "video/quicktime",
        b"M4A " | b"M4B " => "audio/mp4",
        b"avif" | b"avis" => "image/avif",
        b"heic" | b"heix" | b"heim" | b"heis" | b"mif1" | b"msf1" => "image/heic",
        _ => "video/mp4",
    }
}

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
    let mut at = 8;
    loop {
        let length = u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        match bytes.get(at + 4..at + 8)? {
            b"tRNS" => return Some(true),
            b"IDAT" | b"IEND" => return Some(false),
            _ => at = at.checked_add(usize::try_from(length).ok()?)?.checked_add(12)?,
        }
    }
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

    #[test]
    fn types_are_known_by_their_first_bytes() {
        for (head, mime) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVEfmt ", Some("audio/wav")),
            (b"RIFF\0\0\0\0AVI LIST", None),
            (b"BM\x10\0\0\0\0\0\0\0\x36", Some("image/bmp")),
            (b"BM is a car maker", None),
            (b"\0\0\0\x18ftypisom", Some("video/mp4")),
            (b"\0\0\0\x18ftypqt  ", Some("video/quicktime")),
            (b"\0\0\0\x18ftypM4A ", Some("audio/mp4")),
            (b"\0\0\0\x18ftypavif", Some("image/avif")),
            (b"\0\0\0\x18ftyp", None),
            (b"\x1a\x45\xdf\xa3\x01\0\0\0\x42\x82\x84webm", Some("video/webm")),
            (b"\x1a\x45\xdf\xa3\x01\0\0\0\x42\x82\x88matroska", Some("video/x-matroska")),
            (b"ID3\x04", Some("audio/mpeg")),
            (b"\xff\xfb\x90", Some("audio/mpeg")),
            (b"\xff\xf1\x50", Some("audio/aac")),
            (b"fLaC", Some("audio/flac")),
            (b"OggS", Some("audio/ogg")),
            (b"<!doctype html>", None),
            (b"{\"detail\":1}", None),
            (b"", None),
        ] {
            assert_eq!(sniff(head), mime, "{head:?}");
        }
    }

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

    fn encoded(image: &image::DynamicImage, format: image::ImageFormat) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(vec![]);
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
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
            let bytes = encoded(&picture, format);
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
