//! Whether a file that a client sends ends before its end. No program opens it, so it is refused with the request instead of
//! failing its task. What stands behind the end does no harm: cameras keep films there. Pure.

use gatehouse_model::{Facts, MediaKind};

use crate::probe::facts::{self, facts, png_chunks};
use crate::probe::wav;
use crate::probe::whole::Whole;

/// The kind of files that are cut short, before the name of their format.
const TRUNCATED: &str = "application/x-truncated-";

/// What is known of a file of which these are all bytes. One that is cut short is no medium, and its type says so.
pub(crate) fn facts_of_all(bytes: &[u8]) -> Facts {
    let found = facts(bytes);
    if found.kind == MediaKind::Other || !is_cut(bytes, &found.mime) {
        return found;
    }
    truncated(found)
}

/// The same file, cut short.
pub(crate) fn truncated(found: Facts) -> Facts {
    let mime = format!("{TRUNCATED}{}", facts::extension(&found.mime));
    Facts { bytes: found.bytes, mime, ..facts(&[]) }
}

/// Whether a file of that type is cut short; `false` where its format does not tell.
pub(crate) fn is_cut(bytes: &[u8], mime: &str) -> bool {
    match mime {
        "image/png" => {
            let end = png_chunks(bytes).find(|(kind, _)| kind == b"IEND");
            end.is_none_or(|(_, content)| content.end.saturating_add(4) > bytes.len())
        }
        "image/jpeg" => is_jpeg_cut(bytes).unwrap_or(true),
        "audio/wav" => wav::is_cut(bytes),
        "audio/ogg" => is_ogg_cut(bytes),
        "audio/mpeg" | "audio/aac" | "audio/flac" | "image/bmp" | "image/tiff" => false,
        _ => {
            let mut whole = Whole::new(mime);
            whole.take(bytes);
            whole.check().is_err()
        }
    }
}

/// Segments up to the picture's data, and the mark of the end anywhere behind: within the data it cannot be. `None` where a segment
/// ends behind the file.
fn is_jpeg_cut(bytes: &[u8]) -> Option<bool> {
    let mut at = 2_usize;
    loop {
        if *bytes.get(at)? != 0xff {
            // Decoders look for the next mark; nothing is known here.
            return Some(false);
        }
        match *bytes.get(at + 1)? {
            0xff => at += 1,
            0xd9 => return Some(false),
            0x01 | 0xd0..=0xd8 => at += 2,
            kind => {
                let length = usize::from(u16::from_be_bytes(*bytes.get(at + 2..)?.first_chunk()?));
                at += 2 + length;
                bytes.get(at..).filter(|_| length >= 2)?;
                if kind == 0xda {
                    return Some(memchr::memmem::find(&bytes[at..], b"\xff\xd9").is_none());
                }
            }
        }
    }
}

/// Pages one behind the other (RFC 3533).
fn is_ogg_cut(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while rest.starts_with(b"OggS") {
        let segments = rest.get(26).map_or(0, |count| usize::from(*count));
        let Some(table) = rest.get(27..27 + segments) else { return true };
        let length = 27 + segments + table.iter().map(|length| usize::from(*length)).sum::<usize>();
        let Some(next) = rest.get(length..) else { return true };
        rest = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat};

    use super::*;
    use crate::probe::orientation::tests::oriented;
    use crate::probe::wav::tests::wav;
    use crate::tests::file_of;

    /// Without it a file that no program opens is accepted, and its task fails at the provider.
    #[test]
    fn what_ends_before_its_end_is_no_medium() {
        let picture = |format| file_of(&DynamicImage::new_rgb8(90, 70), format);
        let ogg = |page: &[u8]| [&b"OggS\0\x02"[..], &[0; 20], &[2, 200, 50], page].concat();
        let film =
            [&b"\0\0\0\x10ftypisom\0\0\0\0"[..], b"\0\0\0\x10moov\0\0\0\x08free\0\0\0\x40mdat", &[7; 56]]
                .concat();
        for (file, truncated) in [
            (picture(ImageFormat::Png), "png"),
            (picture(ImageFormat::Jpeg), "jpg"),
            (oriented(ImageFormat::Jpeg, (40, 30), 6), "jpg"),
            (oriented(ImageFormat::Png, (40, 30), 6), "png"),
            (oriented(ImageFormat::WebP, (40, 30), 6), "webp"),
            (wav(8000, 500, 500), "wav"),
            (ogg(&[7; 250]), "ogg"),
            (film, "mp4"),
        ] {
            let whole = facts_of_all(&file);
            assert_ne!(whole.kind, MediaKind::Other, "{}", whole.mime);
            for length in [file.len() / 2, file.len() - 9, file.len() - 3] {
                let cut = facts_of_all(&file[..length]);
                let expected = (MediaKind::Other, format!("application/x-truncated-{truncated}"));
                assert_eq!((cut.kind, cut.mime), (expected.0, expected.1), "{length} of {}", file.len());
            }
            let longer = [&file[..], &[0; 3000]].concat();
            if !matches!(truncated, "mp4") {
                assert_eq!(facts_of_all(&longer).mime, whole.mime, "with something behind it");
            }
        }
        let endless = wav(8000, u32::MAX, 500);
        assert_eq!(facts_of_all(&endless).mime, "audio/wav", "a stream's writer did not know it");
        assert_eq!(facts_of_all(b"\xff\xfb\x90 and more").mime, "audio/mpeg", "nothing tells");
    }
}
