//! Where the bytes of a result come from, and what goes wrong on the way.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, StreamExt};
use gatehouse_contract::{SNIFFED, decode_base64, payload};
use gatehouse_model::BlobId;
use gatehouse_upstream::{FetchError, Fetched, OpenBlob, Origins, Policy, Upstream};

use crate::media_store::TaskBlobs;
use crate::storage::objects::Error;
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

    /// Whether our own store cannot take it now: nothing is lost as long as another try waits.
    #[must_use]
    pub fn is_store_outage(&self) -> bool {
        matches!(self, Self::Store(error) if error.outage().is_some())
    }
}

/// Where the bytes come from.
pub(crate) enum Source {
    Fetch(Box<Fetched>),
    Stream(BoxStream<'static, io::Result<Bytes>>),
    Memory(Option<Bytes>),
}

impl Source {
    /// Opens the source of a product of `provider`; at most `max` bytes will be read, within `timeout` where it is fetched.
    pub(super) async fn open(
        upstream: &Upstream,
        source: &str,
        provider: &str,
        blobs: &TaskBlobs,
        max: u64,
        timeout: Duration,
    ) -> Result<Self, SaveError> {
        if let Some(name) = source.strip_prefix("blob:") {
            let (_, blob) = own_blob(name, blobs).await?;
            return Ok(Self::Stream(blob.body));
        }
        let embedded = payload(source.as_bytes());
        if embedded.is_uri() {
            let bytes = if embedded.is_said { decode_base64(embedded.base64) } else { embedded.file() };
            let bytes = bytes.ok_or_else(|| lost("the result is not valid base64"))?;
            return Ok(Self::Memory(Some(bytes.into())));
        }
        let policy = Policy::new(Origins::Results(provider), max, timeout);
        let fetched = upstream.fetcher().fetch(source, &policy).await.map_err(not_fetched)?;
        Ok(Self::Fetch(Box::new(fetched)))
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, SaveError> {
        match self {
            Self::Fetch(fetched) => fetched.next().await.map_err(not_fetched),
            Self::Stream(stream) => Ok(stream.next().await.transpose().map_err(Error::from)?),
            Self::Memory(bytes) => Ok(bytes.take()),
        }
    }

    /// As much of the beginning as the type needs.
    pub(crate) async fn head(&mut self) -> Result<Bytes, SaveError> {
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
    pub(crate) fn declared(&self) -> Option<&str> {
        match self {
            Self::Fetch(fetched) => fetched.mime.as_deref(),
            Self::Stream(_) | Self::Memory(_) => None,
        }
    }
}

/// Writes `head`, which has been read already, and all that follows; at most `max` bytes.
pub(crate) async fn copy(
    source: &mut Source,
    head: &Bytes,
    writer: &mut Writer,
    max: u64,
    look: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<(), SaveError> {
    let mut length = 0;
    let mut next = Some(head.clone());
    while let Some(piece) = next {
        length += piece.len() as u64;
        if length > max {
            return Err(too_large(max));
        }
        look(&piece);
        writer.write(&piece).await?;
        next = source.next().await?;
    }
    Ok(())
}

/// Opens the blob of this name, which must be the task's own.
pub(crate) async fn own_blob(name: &str, blobs: &TaskBlobs) -> Result<(BlobId, OpenBlob), SaveError> {
    blobs.named(name).await?.ok_or_else(|| lost("the result is not a file of this task"))
}

pub(crate) fn lost(reason: &str) -> SaveError {
    SaveError::Lost(reason.to_owned())
}

pub(crate) fn too_large(max: u64) -> SaveError {
    not_fetched(FetchError::TooLarge(max))
}

fn not_fetched(why: FetchError) -> SaveError {
    let reason = format!("the result could not be fetched: {why}");
    if why.is_passing() { SaveError::Passing(reason) } else { SaveError::Lost(reason) }
}
