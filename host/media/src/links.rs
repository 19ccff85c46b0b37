//! Signed links to results, what they open, and byte ranges of it (RFC 9110, 14.2).

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use gatehouse_model::{Digest, Media, MediaId, UnixMs};
use object_store::path::Path;
use url::Url;

use crate::media_store::MediaStore;
use crate::probe::facts;
use crate::storage::objects::Error;

/// The part of an object of `length` bytes a header asks for, end exclusive. Other units, several ranges and
/// what is not well formed are ignored, as the RFC allows: the whole is served then,
/// and the answer is `None`.
fn part(header: Option<&str>, length: u64) -> Result<Option<Range<u64>>, MediaRefusal> {
    let beyond = Err(MediaRefusal::BadRange(length));
    match header.and_then(single) {
        None => Ok(None),
        Some((Some(first), _)) if first >= length => beyond,
        Some((Some(first), last)) => {
            Ok(Some(first..last.map_or(length, |last| length.min(last.saturating_add(1)))))
        }
        Some((None, Some(0) | None)) => beyond,
        Some((None, Some(_))) if length == 0 => beyond,
        Some((None, Some(suffix))) => Ok(Some(length.saturating_sub(suffix)..length)),
    }
}

fn single(header: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, set) = header.split_once('=')?;
    let (first, last) = set.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = (number(first)?, number(last)?);
    match (first, last) {
        (None, None) => None,
        (Some(first), Some(last)) if first > last => None,
        both => Some(both),
    }
}

/// `Some(None)` for nothing, `None` for an invalid number. A number that does not fit becomes the largest one.
fn number(text: &str) -> Option<Option<u64>> {
    if text.is_empty() {
        return Some(None);
    }
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| Some(text.parse().unwrap_or(u64::MAX)))
}

const PURPOSE: &[u8] = b"media-link";
const PATH: &str = "/v1/media/";

/// A result being read.
pub struct MediaFile {
    /// Its type.
    pub mime: &'static str,
    /// Its whole length.
    pub length: u64,
    /// The part that `body` holds, end exclusive; all of it unless a range was asked for.
    pub range: Range<u64>,
    /// A range was asked for, and this is it.
    pub partial: bool,
    /// When the link ends.
    pub expires: UnixMs,
    /// The bytes, in pieces of at most 256 KiB.
    pub body: BoxStream<'static, std::io::Result<Bytes>>,
}

/// Why a link is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaRefusal {
    /// Wrong signature, or no such file.
    #[error("no such file")]
    NotFound,
    /// The link has ended.
    #[error("the link has expired")]
    Expired,
    /// The range lies outside the file of this length.
    #[error("the range lies outside the file's {0} bytes")]
    BadRange(u64),
    /// The media store does not answer now.
    #[error("the media store does not answer now, retry in a moment")]
    Unavailable,
    /// The media store failed.
    #[error("the media store failed")]
    Broken,
}

impl MediaRefusal {
    /// The refusal for a store that failed to read the files of a result; writes the cause to the log.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        if error.outage().is_some() {
            tracing::warn!(%error, "the file of a result cannot be read now");
            return Self::Unavailable;
        }
        tracing::error!(%error, "the file of a result cannot be read");
        Self::Broken
    }
}

/// A link whose signature is right.
pub(crate) struct Checked {
    pub(crate) path: Path,
    pub(crate) mime: &'static str,
    pub(crate) expires: UnixMs,
}

impl MediaStore {
    /// The link to a result; `base` is the public address without a slash at its end.
    #[must_use]
    pub fn link(&self, base: &str, media: &Media) -> String {
        let name = name(media.id, &media.mime);
        let expires = media.expires.seconds().to_string();
        let signature = Digest(self.0.pepper.sign(&[PURPOSE, name.as_bytes(), expires.as_bytes()]));
        format!("{base}{PATH}{name}?expires={expires}&signature={signature}")
    }

    /// Opens a link by its parts, as in its URL; `range` is the request's `Range` header.
    ///
    /// # Errors
    /// See [`MediaRefusal`]; a wrong signature and a file that is gone look alike.
    pub async fn open_link(
        &self,
        name: &str,
        expires: &str,
        signature: &str,
        range: Option<&str>,
    ) -> Result<MediaFile, MediaRefusal> {
        let link = self.check_link(name, expires, signature).ok_or(MediaRefusal::NotFound)?;
        self.read(link, range).await
    }

    /// Opens a result as its link would, for those who need none; `range` as above.
    ///
    /// # Errors
    /// As of a link; its end is the result's.
    pub async fn open_result(&self, media: &Media, range: Option<&str>) -> Result<MediaFile, MediaRefusal> {
        let name = name(media.id, &media.mime);
        let extension = facts::extension(&media.mime);
        let mime = facts::type_of_extension(extension).ok_or(MediaRefusal::NotFound)?;
        let link = Checked { path: path(&name, media.expires), mime, expires: media.expires };
        self.read(link, range).await
    }

    /// Whether a result was deleted before its end.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_deleted(&self, media: &Media) -> Result<bool, Error> {
        if self.0.clock.now() >= media.expires {
            return Ok(false);
        }
        let path = path(&name(media.id, &media.mime), media.expires);
        Ok(self.0.objects.length(&path).await?.is_none())
    }

    /// Deletes a result before its end. One that is gone already is no error.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete_result(&self, media: &Media) -> Result<(), Error> {
        self.0.objects.delete(&path(&name(media.id, &media.mime), media.expires)).await
    }

    /// Type and bytes of the file behind a link of this gateway, at most as many as a request may embed; `None` where it is
    /// none, has ended, or leads to a larger file.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn linked_file(&self, link: &str) -> Result<Option<(&'static str, Bytes)>, Error> {
        let Some(own) = Url::parse(link).ok().and_then(|url| self.own_link(&url)) else { return Ok(None) };
        let Some(found) = self.0.objects.read(&own.path).await? else { return Ok(None) };
        if found.length > self.0.config.max_blob() {
            return Ok(None);
        }
        Ok(Some((own.mime, found.body.try_collect::<BytesMut>().await?.freeze())))
    }

    async fn read(&self, link: Checked, range: Option<&str>) -> Result<MediaFile, MediaRefusal> {
        if self.0.clock.now() >= link.expires {
            return Err(MediaRefusal::Expired);
        }
        let failed = |error| MediaRefusal::of(&error);
        let length =
            self.0.objects.length(&link.path).await.map_err(failed)?.ok_or(MediaRefusal::NotFound)?;
        let part = part(range, length)?;
        let (partial, range) = (part.is_some(), part.unwrap_or(0..length));
        let body = self.0.objects.read_part(&link.path, range.clone()).await.map_err(failed)?;
        Ok(MediaFile { mime: link.mime, length, range, partial, expires: link.expires, body })
    }

    /// The object a URL opens when it is one of our own links: the signature says so, whatever the host. So a
    /// client may feed a result back without the gateway fetching from itself.
    pub(crate) fn own_link(&self, url: &Url) -> Option<Checked> {
        let name = url.path().strip_prefix(PATH)?;
        let value = |wanted: &str| url.query_pairs().find(|(key, _)| key == wanted).map(|(_, value)| value);
        let link = self.check_link(name, &value("expires")?, &value("signature")?)?;
        (self.0.clock.now() < link.expires).then_some(link)
    }

    fn check_link(&self, name: &str, expires: &str, signature: &str) -> Option<Checked> {
        // One link has one spelling: the text of a digest is lower-case hex of its length, nothing else.
        let Digest(signature) = signature.parse().ok()?;
        if !self.0.pepper.verifies(&[PURPOSE, name.as_bytes(), expires.as_bytes()], &signature) {
            return None;
        }
        // Signed, so made here; still read strictly, since it becomes a path.
        let (id, extension) = name.split_once('.')?;
        let id: MediaId = id.parse().ok()?;
        let mime = facts::type_of_extension(extension)?;
        let expires = UnixMs(expires.parse::<u64>().ok()?.checked_mul(1000)?);
        Some(Checked { path: path(&format!("{id}.{extension}"), expires), mime, expires })
    }
}

/// A result's file name.
pub(crate) fn name(id: MediaId, mime: &str) -> String {
    format!("{id}.{}", facts::extension(mime))
}

/// Where a result is: below the day its link ends, so that whole days can be dropped.
pub(crate) fn path(name: &str, expires: UnixMs) -> Path {
    let file = format!("{}-{name}", expires.seconds());
    Path::from_iter(["media".to_owned(), expires.day().to_string(), file])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_the_rfc_says() {
        for (header, length, expected) in [
            (None, 10, Ok(None)),
            (Some("bytes=0-0"), 10, Ok(Some(0..1))),
            (Some("bytes=2-4"), 10, Ok(Some(2..5))),
            (Some("bytes=2-"), 10, Ok(Some(2..10))),
            (Some("bytes=0-"), 10, Ok(Some(0..10))),
            (Some("bytes=9-9"), 10, Ok(Some(9..10))),
            (Some("bytes=9-100"), 10, Ok(Some(9..10))),
            (Some("bytes=-3"), 10, Ok(Some(7..10))),
            (Some("bytes=-10"), 10, Ok(Some(0..10))),
            (Some("bytes=-11"), 10, Ok(Some(0..10))),
            (Some("Bytes=1-2"), 10, Ok(Some(1..3))),
            (Some("bytes= 1-2"), 10, Ok(Some(1..3))),
            (Some("bytes=0-99999999999999999999999"), 10, Ok(Some(0..10))),
            (Some("bytes=10-"), 10, Err(MediaRefusal::BadRange(10))),
            (Some("bytes=99999999999999999999999-"), 10, Err(MediaRefusal::BadRange(10))),
            (Some("bytes=-0"), 10, Err(MediaRefusal::BadRange(10))),
            (Some("bytes=0-"), 0, Err(MediaRefusal::BadRange(0))),
            (Some("bytes=-1"), 0, Err(MediaRefusal::BadRange(0))),
            (Some("bytes=4-2"), 10, Ok(None)),
            (Some("bytes=0-1,4-5"), 10, Ok(None)),
            (Some("bytes=-"), 10, Ok(None)),
            (Some("bytes=a-b"), 10, Ok(None)),
            (Some("bytes=1"), 10, Ok(None)),
            (Some("bytes=+1-2"), 10, Ok(None)),
            (Some("items=0-1"), 10, Ok(None)),
            (Some(""), 10, Ok(None)),
        ] {
            assert_eq!(part(header, length), expected, "{header:?} of {length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_part_lies_inside(header in "bytes=[0-9]{0,3}-[0-9]{0,3}", length in 0_u64..500) {
            if let Ok(Some(part)) = part(Some(&header), length) {
                proptest::prop_assert!(part.start <= part.end && part.end <= length);
            }
        }
    }
}
