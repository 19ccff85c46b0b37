//! The chunks of RIFF files; the length of a WAV file, and whether all of it is there. Pure.

use std::ops::Range;

/// A length from here on stands for one that the writer of a stream did not know.
const UNKNOWN: u64 = 0x7fff_0000;

/// Where the sound is.
struct Data {
    /// As the file says.
    length: u64,
    /// Bytes of the file that are left for it.
    here: u64,
    bytes_per_second: Option<u64>,
}

/// Milliseconds of sound: bytes of the `data` chunk over bytes a second of the `fmt ` chunk. A length written
/// as "unknown" (streamed files) counts up to the end of the file.
pub(crate) fn milliseconds(bytes: &[u8]) -> Option<u64> {
    let data = data(bytes)?;
    (data.length.min(data.here) * 1000).checked_div(data.bytes_per_second?)
}

/// Whether there is less sound than the file says. A byte of padding at its end may be left out.
pub(crate) fn is_cut(bytes: &[u8]) -> bool {
    data(bytes).is_none_or(|data| data.length < UNKNOWN && data.length > data.here)
}

fn data(bytes: &[u8]) -> Option<Data> {
    let mut bytes_per_second = None;
    for (kind, content) in riff_chunks(bytes) {
        match &kind {
            b"fmt " => {
                let rate = bytes.get(content.start + 8..content.start + 12)?.try_into().ok()?;
                bytes_per_second = Some(u64::from(u32::from_le_bytes(rate)));
            }
            b"data" => {
                let here = (bytes.len() - content.start) as u64;
                return Some(Data { length: content.len() as u64, here, bytes_per_second });
            }
            _ => {}
        }
    }
    None
}

/// Kind and content of each chunk of a RIFF file; of the last one the content may end behind the file.
pub(super) fn riff_chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], Range<usize>)> {
    let mut at = 12_usize;
    std::iter::from_fn(move || {
        let [kind @ .., a, b, c, d] = *bytes.get(at..)?.first_chunk::<8>()?;
        let (begin, length) = (at + 8, u32::from_le_bytes([a, b, c, d]) as usize);
        let end = begin.saturating_add(length);
        // Chunks are padded to even lengths.
        at = end.saturating_add(length % 2);
        Some((kind, begin..end))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn wav(rate: u32, announced: u32, data: usize) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend_from_slice(&rate.to_le_bytes());
        bytes.extend_from_slice(&(rate * 2).to_le_bytes());
        bytes.extend_from_slice(b"\x02\0\x10\0data");
        bytes.extend_from_slice(&announced.to_le_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    #[test]
    fn the_length_is_data_over_rate() {
        assert_eq!(milliseconds(&wav(8000, 24_000, 24_000)), Some(1500));
        assert_eq!(milliseconds(&wav(8000, u32::MAX, 16_000)), Some(1000));
        assert_eq!(milliseconds(&wav(0, 100, 100)), None);
        assert_eq!(milliseconds(b"RIFF\0\0\0\0WAVE"), None);
    }
}
