//! Writes one object from pieces: in one go when it is small, in parts when it is not. Durable once finished,
//! and not there at all when it was not.
//!
//! A writer that may wait does not fail while the store is away: before its first part, and with an object that is small. Between
//! two parts an outage that outlives the store's own tries is the end of the object, since a part has no other number.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gatehouse_model::{Clock, UnixMs};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};

use crate::storage::objects::{Error, Objects};

/// Cloud stores want parts of at least 5 MiB, and some of them all parts but the last of one size.
const PART: usize = 5 * 1024 * 1024;

/// Between two tries of a store that is away.
const PAUSE: Duration = Duration::from_secs(5);

/// Until when a store that is away is waited for.
#[derive(Clone)]
pub(crate) struct Patience {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) until: UnixMs,
}

/// An object being written.
pub(crate) struct Writer {
    objects: Objects,
    path: Path,
    waiting: BytesMut,
    upload: Option<Box<dyn MultipartUpload>>,
    length: u64,
    patience: Option<Patience>,
}

impl Writer {
    pub(crate) fn new(objects: &Objects, path: Path) -> Self {
        let objects = objects.clone();
        Self { objects, path, waiting: BytesMut::new(), upload: None, length: 0, patience: None }
    }

    /// The same, which waits for a store that is away.
    pub(crate) fn waiting(self, patience: Option<Patience>) -> Self {
        Self { patience, ..self }
    }

    pub(crate) async fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.waiting.extend_from_slice(piece);
        self.length += piece.len() as u64;
        while self.waiting.len() >= PART {
            let part = self.waiting.split_to(PART).freeze();
            if self.upload.is_none() {
                self.upload = Some(self.begin().await?);
            }
            let Some(upload) = &mut self.upload else { return Ok(()) };
            let put = upload.put_part(PutPayload::from_bytes(part)).await;
            put.map_err(|error| self.objects.failed(error))?;
        }
        Ok(())
    }

    async fn begin(&mut self) -> Result<Box<dyn MultipartUpload>, Error> {
        loop {
            let begun = self.objects.store.put_multipart(&self.path).await;
            match begun.map_err(|error| self.objects.failed(error)) {
                Err(error) if self.has_waited(&error).await => {}
                begun => return begun,
            }
        }
    }

    async fn write_whole(&mut self, bytes: Bytes) -> Result<(), Error> {
        loop {
            match self.objects.write(&self.path, bytes.clone()).await {
                Err(error) if self.has_waited(&error).await => {}
                written => return written,
            }
        }
    }

    /// Whether the writer may try again, after the pause that it has made then.
    async fn has_waited(&mut self, error: &Error) -> bool {
        let Some(Patience { clock, until }) = self.patience.as_ref().filter(|_| error.outage().is_some())
        else {
            return false;
        };
        if clock.now() >= *until {
            return false;
        }
        tracing::warn!(%error, "a file waits for the media store");
        clock.pause(PAUSE).await;
        true
    }

    /// Makes the object appear where all of it was written, and takes it back otherwise; returns its length.
    pub(crate) async fn end<E: From<Error>>(self, written: Result<(), E>) -> Result<u64, E> {
        if let Err(error) = written {
            self.abort().await;
            return Err(error);
        }
        Ok(self.finish().await?)
    }

    /// Makes the object appear; returns its length.
    pub(crate) async fn finish(mut self) -> Result<u64, Error> {
        let rest: Bytes = self.waiting.split().freeze();
        match self.upload.take() {
            None => self.write_whole(rest).await?,
            Some(mut upload) => {
                let failed = |error| self.objects.failed(error);
                if !rest.is_empty() {
                    upload.put_part(PutPayload::from_bytes(rest)).await.map_err(failed)?;
                }
                upload.complete().await.map_err(failed)?;
            }
        }
        Ok(self.length)
    }

    /// Takes back what was written.
    pub(crate) async fn abort(mut self) {
        if let Some(upload) = &mut self.upload
            && let Err(error) = upload.abort().await
        {
            // Nothing refers to it; the sweep of the day clears what is left.
            tracing::warn!(%error, "a broken upload was not cleared");
        }
    }
}
