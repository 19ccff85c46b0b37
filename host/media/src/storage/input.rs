//! Files that an operator gives as inputs of requests: kept as results are, so that their links work and their end collects
//! them; and the bytes behind links of this gateway. Never fetches anything.

use bytes::{Bytes, BytesMut};
use futures_util::stream::StreamExt;
use gatehouse_model::Media;
use url::Url;

use crate::probe::facts::{SNIFFED, sniff};
use crate::storage::copy_result::finish;
use crate::storage::media_store::MediaStore;
use crate::storage::objects::Error;

/// Why a file is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is nothing in it.
    #[error("expected a picture, a film or a sound, got an empty file")]
    Empty,
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
        let (mut media, mut writer) = self.new_media(mime.to_owned());
        if let Err(error) = writer.write(bytes).await {
            writer.abort().await;
            return Err(error.into());
        }
        finish(&mut media, writer).await?;
        Ok(media)
    }

    /// Type and bytes of the file behind a link of this gateway, at most as many as a request may embed; `None` where it is
    /// none, has ended, or leads to a larger file.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn linked_file(&self, link: &str) -> Result<Option<(&'static str, Bytes)>, Error> {
        let Some(own) = Url::parse(link).ok().and_then(|url| self.own_link(&url)) else { return Ok(None) };
        let Some(mut found) = self.0.objects.read(&own.path).await? else { return Ok(None) };
        if found.length > self.0.config.max_blob() {
            return Ok(None);
        }
        let mut bytes = BytesMut::new();
        while let Some(piece) = found.body.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(Some((own.mime, bytes.freeze())))
    }
}
