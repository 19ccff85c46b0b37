//! How much of a file a model may read, for the host's estimate: bounds by bytes, because a plugin never sees inside of one.
//!
//! A file that the request does not embed has no bound. Its id names a file of the operator's account, whosever it is, and
//! its link may lead to anything; either is refused unless the model's `pass` has `file_id` or `file_url`.

use gatehouse_sdk::{Facts, Refusal};

use crate::check::{instead, wrong};
use crate::json::Raw;
use crate::path::Path;

/// In a model's `pass`: clients may name files of the provider's account.
pub const FILE_ID: &str = "file_id";
/// In a model's `pass`: clients may name documents by their links.
pub const FILE_URL: &str = "file_url";

/// The most pages of a document that a provider reads.
pub const MAX_PAGES: u32 = 100;
/// Bytes of a page with little on it, in a document that is compressed.
const BYTES_PER_PAGE: u64 = 2048;
/// Bytes of a second of sound, at least: telephone quality, uncompressed and as MP3.
const WAV_BYTES_PER_S: u64 = 8000;
const MP3_BYTES_PER_S: u64 = 1000;
/// Seconds of sound that are as many tokens as a picture: the host counts 5,000, and a model that hears hears 32 a second.
const SECONDS_PER_PICTURE: u64 = 5000 / 32;

/// Pages of a document of so many bytes, at most; each counts as a picture.
#[must_use]
pub fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_PAGE)).unwrap_or(MAX_PAGES).clamp(1, MAX_PAGES)
}

/// The pictures that a sound of so many bytes counts as, at most.
#[must_use]
pub fn pictures_of_sound(format: &str, bytes: u64) -> u32 {
    let per_second = if format == "wav" { WAV_BYTES_PER_S } else { MP3_BYTES_PER_S };
    let pictures = bytes.div_ceil(per_second).div_ceil(SECONDS_PER_PICTURE);
    u32::try_from(pictures).unwrap_or(u32::MAX).max(1)
}

/// Bytes that so much base64 stands for.
#[must_use]
pub fn decoded_bytes(base64: u64) -> u64 {
    base64.div_ceil(4).saturating_mul(3)
}

/// Bytes of base64 for so many bytes.
#[must_use]
pub fn base64_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Bytes of a JSON value as the provider reads it: each file that the host cut out of it is base64 again.
#[must_use]
pub fn written_bytes<'b>(json: &str, blobs: impl Iterator<Item = (&'b str, u64)>) -> u64 {
    let cut = blobs.filter(|(name, _)| json.contains(name));
    cut.fold(json.len() as u64, |sum, (_, bytes)| sum.saturating_add(base64_bytes(bytes)))
}

/// The names of a request's blobs, and their bytes.
pub fn sizes(blobs: &[Facts]) -> impl Iterator<Item = (&str, u64)> {
    blobs.iter().filter_map(|facts| Some((facts.blob.as_deref()?, facts.bytes)))
}

/// The refusal of a file by its id.
#[must_use]
pub fn no_file_id(path: &Path<'_>, raw: Raw<'_>) -> Refusal {
    wrong(path, "nothing, files are not kept here: send the file itself as base64", Some(raw))
}

/// The refusal of a document by its link.
#[must_use]
pub fn no_file_url(path: &Path<'_>) -> Refusal {
    instead(path, "the document itself as base64", "a link")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a long document or sound is held as one picture, and what it costs above that may not be there.
    #[test]
    fn files_are_bounded_by_their_bytes() {
        for (bytes, expected) in
            [(0, 1), (1, 1), (2048, 1), (2049, 2), (100_000, 49), (204_800, 100), (u64::MAX, 100)]
        {
            assert_eq!(pages(bytes), expected, "{bytes}");
        }
        for (format, bytes, expected) in [
            ("wav", 0, 1),
            ("wav", 10_000_000, 9),
            ("mp3", 10_000_000, 65),
            ("mp3", 1000, 1),
            ("mp3", u64::MAX, u32::MAX),
        ] {
            assert_eq!(pictures_of_sound(format, bytes), expected, "{format} of {bytes}");
        }
        assert_eq!((decoded_bytes(8), base64_bytes(6), base64_bytes(7)), (6, 8, 12));
        let blobs = [("blob:a", 300), ("blob:b", 9)];
        assert_eq!(written_bytes(r#"{"x":"blob:a"}"#, blobs.into_iter()), 14 + 400);
    }
}
