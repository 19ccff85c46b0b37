//! Copies a result into the gateway's own store before its task completes, as it came or edited.
//!
//! The provider's link may die within minutes and must never be handed on; what a client gets is ours, with a type
//! found from its own bytes. An edited result takes two steps, so that no more than an edit's own share of it is ever
//! in memory: the source becomes a blob (unless it is one), then the edit reads from there. The blob goes when the copy
//! is made or has failed; a crash, or a deadline on the way, leaves it to the sweep. A source that several products name, such as a
//! grid picture and its tiles, is fetched once and kept as a blob until all of them are copied.
//!
//! Files that an operator gives as inputs of requests are kept as results are, so that their links work and their end collects
//! them.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_contract::{SNIFFED, payload, sniff};
use gatehouse_model::{BlobId, Edit, Media, MediaId, MediaKind, Product, metric};

use crate::edit::apply::Stored;
use crate::edit::clip::plan::Edited;
use crate::edit::locate::SourceError;
use crate::links;
use crate::media_store::{MediaStore, TaskBlobs, blob_path};
use crate::probe::cut::is_cut;
use crate::probe::facts;
use crate::probe::whole::Whole;
use crate::results::source::{SaveError, Source, copy, lost, own_blob, too_large};
use crate::storage::objects::Error;
use crate::storage::writer::Writer;

/// The sources of one result.
pub struct ResultSources {
    blobs: TaskBlobs,
    /// Those that several products name, with their blobs once they are fetched.
    shared: HashMap<String, Option<BlobId>>,
}

impl ResultSources {
    /// The sources of `products`; `blobs` are those of the task.
    #[must_use]
    pub fn new(products: &[Product], blobs: TaskBlobs) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for product in products.iter().filter(|product| is_fetched(&product.source)) {
            *counts.entry(&product.source).or_default() += 1;
        }
        let shared = counts.into_iter().filter(|(_, count)| *count > 1);
        Self { blobs, shared: shared.map(|(source, _)| (source.to_owned(), None)).collect() }
    }
}

/// Why a file is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is nothing in it.
    #[error("expected a picture, a film or a sound, got an empty file")]
    Empty,
    /// It ends too early.
    #[error("expected a picture, a film or a sound, got a file that is cut short")]
    Cut,
    /// Its own bytes do not show what it is.
    #[error("expected a picture, a film or a sound, got a file of no known kind")]
    Unknown,
    /// It is larger than a file embedded in a request may be.
    #[error("expected at most {} MiB, got {got} bytes", .max / (1024 * 1024))]
    TooLarge {
        /// Bytes that are taken at most.
        max: u64,
        /// Bytes that came.
        got: u64,
    },
    /// Our own store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl MediaStore {
    /// Copies one product of `provider`, edited as it asks; its link lives from now on for the configured hours. Type
    /// and length are those of the edited bytes.
    ///
    /// # Errors
    /// See [`SaveError`]; nothing is kept then.
    pub async fn save(
        &self,
        product: &Product,
        provider: &str,
        blobs: &TaskBlobs,
    ) -> Result<Media, SaveError> {
        match &product.edit {
            None => self.save_whole(product, provider, blobs).await,
            Some(edit) => self.save_edited(product, edit, provider, blobs).await,
        }
    }

    /// As [`MediaStore::save`], with a source that other products share fetched once.
    ///
    /// # Errors
    /// See [`SaveError`]; nothing of this product is kept then.
    pub async fn save_one_of(
        &self,
        sources: &mut ResultSources,
        product: &Product,
        provider: &str,
    ) -> Result<Media, SaveError> {
        let ResultSources { blobs, shared } = sources;
        let Some(kept) = shared.get_mut(&product.source) else {
            return self.save(product, provider, blobs).await;
        };
        let id = match *kept {
            Some(id) => id,
            None => {
                let (id, _) = self.store_source(product, provider, blobs).await?;
                blobs.add(id);
                *kept.insert(id)
            }
        };
        let product = Product { source: format!("blob:{id}"), ..product.clone() };
        self.save(&product, provider, blobs).await
    }

    /// Drops what was kept of shared sources.
    pub async fn drop_sources(&self, sources: ResultSources) {
        let kept: Vec<_> = sources.shared.into_values().flatten().collect();
        self.drop_blobs(&kept).await;
    }

    /// Keeps a file whose type its own bytes show; its link lives as long as a result's.
    ///
    /// # Errors
    /// See [`InputError`]; nothing is kept then.
    pub async fn keep_input(&self, bytes: &Bytes) -> Result<Media, InputError> {
        let (max, got) = (self.0.config.max_blob(), bytes.len() as u64);
        if bytes.is_empty() {
            return Err(InputError::Empty);
        }
        if got > max {
            return Err(InputError::TooLarge { max, got });
        }
        let mime = sniff(&bytes[..bytes.len().min(SNIFFED)]).ok_or(InputError::Unknown)?;
        if is_cut(bytes, mime) {
            return Err(InputError::Cut);
        }
        let (media, mut writer) = self.new_media(mime.to_owned());
        let written = writer.write(bytes).await;
        Ok(finish(media, writer, written).await?)
    }

    async fn save_whole(
        &self,
        product: &Product,
        provider: &str,
        blobs: &TaskBlobs,
    ) -> Result<Media, SaveError> {
        let max = self.0.config.max_result();
        let mut source = self.open_source(&product.source, provider, blobs).await?;
        let head = source.head().await?;
        let mime = settle_type(&head, product.mime.as_deref(), source.declared())?;
        let mut whole = Whole::new(&mime);
        let (media, mut writer) = self.new_media(mime);
        let copied = copy(&mut source, &head, &mut writer, max, &mut |piece| whole.take(piece)).await;
        finish(media, writer, copied.and_then(|()| whole.check().map_err(lost))).await
    }

    async fn save_edited(
        &self,
        product: &Product,
        edit: &Edit,
        provider: &str,
        blobs: &TaskBlobs,
    ) -> Result<Media, SaveError> {
        edit.check().map_err(|reason| not_cut(&reason))?;
        if let Some(name) = product.source.strip_prefix("blob:") {
            let (id, blob) = own_blob(name, blobs).await?;
            let stored = Stored { path: blob_path(id), length: blob.length };
            return self.save_edit_of(&stored, product, edit).await;
        }
        let (id, stored) = self.store_source(product, provider, blobs).await?;
        let saved = self.save_edit_of(&stored, product, edit).await;
        self.drop_blobs(&[id]).await;
        saved
    }

    /// Keeps a source as a blob that no task owns.
    async fn store_source(
        &self,
        product: &Product,
        provider: &str,
        blobs: &TaskBlobs,
    ) -> Result<(BlobId, Stored), SaveError> {
        let max = self.0.config.max_result();
        let mut source = self.open_source(&product.source, provider, blobs).await?;
        let head = source.head().await?;
        let id = BlobId::new(self.0.clock.now(), &*self.0.seed);
        let mut writer = Writer::new(&self.0.objects, blob_path(id));
        let copied = copy(&mut source, &head, &mut writer, max, &mut |_| ()).await;
        let length = writer.end(copied).await?;
        Ok((id, Stored { path: blob_path(id), length }))
    }

    async fn save_edit_of(
        &self,
        stored: &Stored,
        product: &Product,
        edit: &Edit,
    ) -> Result<Media, SaveError> {
        let max = self.0.config.max_result();
        if stored.length == 0 {
            return Err(lost("the result is empty"));
        }
        if stored.length > max {
            return Err(too_large(max));
        }
        let edited = self.0.editor.edit(stored, edit).await.map_err(|error| match error {
            SourceError::Unfit(reason) => not_cut(&reason),
            SourceError::Store(error) => error.into(),
        })?;
        if edited.length() > max {
            return Err(not_cut(&format!("the part is larger than {} MiB", self.0.config.max_result_mib)));
        }
        let head = edited.head.get(..SNIFFED).unwrap_or(&edited.head);
        let mime = settle_type(head, product.mime.as_deref(), None)?;
        let (media, mut writer) = self.new_media(mime);
        let written = self.write_edited(&edited, stored, &mut writer).await;
        Ok(finish(media, writer, written).await?)
    }

    async fn write_edited(&self, edited: &Edited, stored: &Stored, writer: &mut Writer) -> Result<(), Error> {
        writer.write(&edited.head).await?;
        self.0.editor.copy_parts(stored, &edited.parts, writer).await
    }

    async fn open_source(
        &self,
        source: &str,
        provider: &str,
        blobs: &TaskBlobs,
    ) -> Result<Source, SaveError> {
        let timeout = Duration::from_secs(self.0.config.result_timeout_seconds.into());
        let max = self.0.config.max_result();
        Source::open(&self.0.upstream, source, provider, blobs, max, timeout).await
    }

    /// A result of this type that is about to be written.
    fn new_media(&self, mime: String) -> (Media, Writer) {
        let now = self.0.clock.now();
        let expires = now.plus(Duration::from_secs(u64::from(self.0.config.link_hours) * 3600));
        let id = MediaId::new(now, &*self.0.seed);
        let path = links::path(&links::name(id, &mime), expires);
        (Media { id, mime, bytes: 0, expires }, Writer::new(&self.0.objects, path))
    }
}

/// Whether a source is fetched, and neither at hand nor a blob already.
fn is_fetched(source: &str) -> bool {
    !source.starts_with("blob:") && !payload(source.as_bytes()).is_uri()
}

/// The result that was written, or what went wrong; then nothing is kept.
async fn finish<E: From<Error>>(media: Media, writer: Writer, written: Result<(), E>) -> Result<Media, E> {
    let bytes = writer.end(written).await?;
    metrics::counter!(metric::MEDIA_BYTES).increment(bytes);
    Ok(Media { bytes, ..media })
}

fn not_cut(reason: &str) -> SaveError {
    SaveError::Lost(format!("the result cannot be cut: {reason}"))
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
