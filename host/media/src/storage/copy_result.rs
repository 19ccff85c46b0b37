//! Copies a result into the gateway's own store before its task completes.
//!
//! The provider's link may die within minutes and must never be handed on; what a client gets is ours, with a type
//! found from its own bytes.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, StreamExt};
use gatehouse_model::{BlobId, Media, MediaId, MediaKind, Product, metric};
use gatehouse_upstream::{FetchError, Fetched, Origins, Policy};

use crate::ingest::data_url;
use crate::links::signed_link;
use crate::probe::facts::{self, SNIFFED, sniff};
use crate::storage::media_store::MediaStore;
use crate::storage::objects::Error;
use crate::storage::task_blobs::TaskBlobs;
use crate::storage::writer::Writer;

/// Why a result was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// It cannot be had: the reason is for the plugin, and may be shown to the client.
    #[error("{0}")]
    Lost(String),
    /// It cannot be had at the moment; the same source may well answer in a moment.
    #[error("{0}")]
    Passing(String),
    /// Our own store failed; the copy may be tried again.
    #[error(transparent)]
    Store(#[from] Error),
}

impl SaveError {
    /// Whether another try may go well.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        !matches!(self, Self::Lost(_))
    }
}

/// Where the bytes come from.
enum Source {
    Fetch(Box<Fetched>),
    Stream(BoxStream<'static, io::Result<Bytes>>),
    Memory(Option<Bytes>),
}

impl MediaStore {
    /// Copies one product of `provider`; its link lives from now on for the configured hours.
    ///
    /// # Errors
    /// See [`SaveError`]; nothing is kept then.
    pub async fn save(
        &self,
        product: &Product,
        provider: &str,
        blobs: &TaskBlobs,
    ) -> Result<Media, SaveError> {
        let max = self.0.config.max_result();
        let mut source = self.open_source(&product.source, provider, blobs, max).await?;
        let head = source.head().await?;
        let mime = settle_type(&head, product.mime.as_deref(), source.declared())?;
        let now = self.0.clock.now();
        let expires = now.plus(Duration::from_secs(u64::from(self.0.config.link_hours) * 3600));
        let id = MediaId::new(now, &*self.0.seed);
        let mut writer =
            Writer::new(&self.0.objects, signed_link::path(&signed_link::name(id, &mime), expires));
        if let Err(error) = copy(&mut source, &head, &mut writer, max).await {
            writer.abort().await;
            return Err(error);
        }
        let bytes = writer.finish().await?;
        metrics::counter!(metric::MEDIA_BYTES).increment(bytes);
        Ok(Media { id, mime, bytes, expires })
    }

    async fn open_source(
        &self,
        source: &str,
        provider: &str,
        blobs: &TaskBlobs,
        max: u64,
    ) -> Result<Source, SaveError> {
        if let Some(name) = source.strip_prefix("blob:") {
            let id = name.parse::<BlobId>().ok();
            let open = match id {
                Some(id) => blobs.read(id).await?,
                None => None,
            };
            let blob = open.ok_or_else(|| lost("the result is not a file of this task"))?;
            return Ok(Source::Stream(blob.body));
        }
        if let Some(payload) = data_url::uri_payload(source.as_bytes()) {
            let bytes = data_url::decode(payload).ok_or_else(|| lost("the result is not valid base64"))?;
            return Ok(Source::Memory(Some(bytes.into())));
        }
        let timeout = Duration::from_secs(self.0.config.result_timeout_seconds.into());
        let policy = Policy::new(Origins::Results(provider), max, timeout);
        let fetched = self.0.upstream.fetch(source, &policy).await.map_err(not_fetched)?;
        Ok(Source::Fetch(Box::new(fetched)))
    }
}

impl Source {
    async fn next(&mut self) -> Result<Option<Bytes>, SaveError> {
        match self {
            Self::Fetch(fetched) => fetched.next().await.map_err(not_fetched),
            Self::Stream(stream) => Ok(stream.next().await.transpose().map_err(Error::from)?),
            Self::Memory(bytes) => Ok(bytes.take()),
        }
    }

    /// As much of the beginning as the type needs.
    async fn head(&mut self) -> Result<Bytes, SaveError> {
        let mut head = BytesMut::new();
        while head.len() < SNIFFED {
            match self.next().await? {
                Some(piece) => head.extend_from_slice(&piece),
                None => break,
            }
        }
        Ok(head.freeze())
    }

    /// What the provider says it is.
    fn declared(&self) -> Option<&str> {
        match self {
            Self::Fetch(fetched) => fetched.mime(),
            Self::Stream(_) | Self::Memory(_) => None,
        }
    }
}

async fn copy(source: &mut Source, head: &Bytes, writer: &mut Writer, max: u64) -> Result<(), SaveError> {
    let mut length = 0;
    let mut next = Some(head.clone());
    while let Some(piece) = next {
        length += piece.len() as u64;
        if length > max {
            return Err(not_fetched(FetchError::TooLarge(max)));
        }
        writer.write(&piece).await?;
        next = source.next().await?;
    }
    Ok(())
}

/// The type of a result: by its bytes; a declared one only where the bytes do not show it. An error page under a
/// picture's name is not a result, and nothing a browser would run is ever kept.
fn settle_type(head: &[u8], product: Option<&str>, declared: Option<&str>) -> Result<String, SaveError> {
    if head.is_empty() {
        return Err(lost("the result is empty"));
    }
    let wanted = product.map_or(MediaKind::Other, facts::kind);
    if let Some(mime) = sniff(head) {
        let kind = facts::kind(mime);
        // Containers do not always distinguish sound from pictures; a picture for a film is another matter.
        let fits = wanted == MediaKind::Other
            || kind == wanted
            || (kind != MediaKind::Image && wanted != MediaKind::Image);
        return if fits { Ok(mime.to_owned()) } else { Err(wrong(product, Some(mime))) };
    }
    let looks_like_text = head.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    match product.or(declared) {
        // Every picture a provider makes is of a type known here.
        Some(mime)
            if matches!(facts::kind(mime), MediaKind::Video | MediaKind::Audio) && !looks_like_text =>
        {
            Ok(mime.to_owned())
        }
        _ => Err(wrong(product, None)),
    }
}

fn wrong(expected: Option<&str>, came: Option<&str>) -> SaveError {
    let expected = expected.unwrap_or("a media file");
    SaveError::Lost(match came {
        Some(mime) => format!("the result is not {expected} but {mime}"),
        None => format!("the result is not {expected}: its bytes are of no known kind"),
    })
}

fn lost(reason: &str) -> SaveError {
    SaveError::Lost(reason.to_owned())
}

fn not_fetched(why: FetchError) -> SaveError {
    let reason = format!("the result could not be fetched: {why}");
    if why.is_passing() { SaveError::Passing(reason) } else { SaveError::Lost(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_decide_what_a_result_is() {
        let png = &b"\x89PNG\r\n\x1a\n"[..];
        let mp4 = &b"\0\0\0\x18ftypisom"[..];
        for (head, product, declared, expected) in [
            (png, None, None, Some("image/png")),
            (png, Some("image/jpeg"), Some("image/jpeg"), Some("image/png")),
            (png, Some("video/mp4"), None, None),
            (mp4, Some("video/mp4"), Some("application/octet-stream"), Some("video/mp4")),
            (mp4, Some("audio/mp4"), None, Some("video/mp4")),
            (mp4, Some("image/png"), None, None),
            (b"<html>", Some("image/png"), Some("text/html"), None),
            (b"<html>", None, Some("text/html"), None),
            (b"<html>", Some("video/mp4"), Some("video/mp4"), None),
            (b"{}", None, None, None),
            (b"\x00\x01\x02", Some("video/mp4"), None, Some("video/mp4")),
            (b"\x00\x01\x02", None, Some("video/mp4"), Some("video/mp4")),
            (b"\x00\x01\x02", Some("image/png"), None, None),
            (b"\x00\x01\x02", None, None, None),
            (b"\x00\x01\x02", Some("text/html"), None, None),
            (b"", Some("video/mp4"), None, None),
        ] {
            let settled = settle_type(head, product, declared).ok();
            assert_eq!(settled.as_deref(), expected, "{head:?} {product:?} {declared:?}");
        }
    }
}
