//! The length of compressed sound: MP3, AAC, FLAC and Ogg (Vorbis and Opus), by `lofty`.

use std::io::Cursor;

use lofty::config::ParseOptions;
use lofty::file::{AudioFile, FileType};
use lofty::probe::Probe;

/// Milliseconds of sound in a file of this type; `None` for one that cannot be followed.
pub(crate) fn milliseconds(bytes: &[u8], mime: &str) -> Option<u64> {
    let options = ParseOptions::new().read_tags(false).read_cover_art(false);
    let reader = Cursor::new(bytes);
    let probe = match mime {
        "audio/mpeg" => Probe::with_file_type(reader, FileType::Mpeg),
        "audio/aac" => Probe::with_file_type(reader, FileType::Aac),
        "audio/flac" => Probe::with_file_type(reader, FileType::Flac),
        "audio/ogg" => Probe::new(reader).guess_file_type().ok()?,
        _ => return None,
    };
    let file = probe.options(options).read().ok()?;
    let length = u64::try_from(file.properties().duration().as_millis()).ok()?;
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 32 kbit/s and 48 kHz: 96 bytes, 24 ms, silent.
    fn mp3(frames: usize) -> Vec<u8> {
        let mut frame = vec![0xff, 0xfb, 0x14, 0xc0];
        frame.resize(96, 0);
        frame.repeat(frames)
    }

    /// A stream of raw AAC at 48 kHz: frames of 1024 samples behind headers of seven bytes.
    fn aac(frames: usize) -> Vec<u8> {
        let length = 7 + 4_u16;
        let [high, low] = (length << 5 | 0x1f).to_be_bytes();
        let frame = [0xff, 0xf1, 0x4c, 0x40, high, low, 0xfc, 0, 0, 0, 7];
        frame.repeat(frames)
    }

    #[test]
    fn frames_add_up() {
        assert_eq!(milliseconds(&mp3(250), "audio/mpeg"), Some(6000));
        let tagged = [&b"ID3\x04\0\0\0\0\0\x0a0123456789"[..], &mp3(250)].concat();
        assert_eq!(milliseconds(&tagged, "audio/mpeg"), Some(6000));
        // Estimated from its rate.
        let length = milliseconds(&aac(469), "audio/aac").expect("a length");
        assert!((9_500..=10_500).contains(&length), "{length}");
    }

    #[test]
    fn an_ogg_stream_ends_at_its_last_position() {
        let page = |flags: u8, position: u64, number: u32, content: &[u8]| {
            let mut page = b"OggS\0".to_vec();
            page.push(flags);
            page.extend(position.to_le_bytes());
            page.extend(7_u32.to_le_bytes());
            page.extend(number.to_le_bytes());
            page.extend([0; 4]);
            page.push(1);
            page.push(u8::try_from(content.len()).unwrap());
            page.extend(content);
            page
        };
        // Opus: positions count 48,000 a second, the first 312 are not heard.
        let head = b"OpusHead\x01\x02\x38\x01\x80\xbb\0\0\0\0\0";
        let tags = b"OpusTags\x04\0\0\0test\0\0\0\0";
        let pages = [page(2, 0, 0, head), page(0, 0, 1, tags), page(4, 7 * 48_000 + 312, 2, b"\xfc\xff\xfe")];
        assert_eq!(milliseconds(&pages.concat(), "audio/ogg"), Some(7000));
    }

    #[test]
    fn what_cannot_be_followed_has_no_length() {
        for mime in ["audio/mpeg", "audio/aac", "audio/flac", "audio/ogg", "image/png"] {
            assert_eq!(milliseconds(b"", mime), None, "{mime}");
            assert_eq!(milliseconds(b"OggS fLaC and other words", mime), None, "{mime}");
        }
    }
}
