//! Writes one object from pieces: in one go when it is small, in parts when it is not. Durable once finished,
//! and not there at all when it was not.

use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};

use crate::storage::objects::Error;
use crate::storage::objects::Objects;

/// Cloud stores want parts of at least 5 MiB.
const PART: usize = 5 * 1024 * 1024;

/// An object being written.
pub(crate) struct Writer {
    objects: Objects,
    path: Path,
    waiting: BytesMut,
    upload: Option<Box<dyn MultipartUpload>>,
    length: u64,
}

impl Writer {
    pub(crate) fn new(objects: &Objects, path: Path) -> Self {
        Self { objects: objects.clone(), path, waiting: BytesMut::new(), upload: None, length: 0 }
    }

    pub(crate) async fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.waiting.extend_from_slice(piece);
        self.length += piece.len() as u64;
        if self.waiting.len() >= PART {
            let part = self.waiting.split().freeze();
            let upload = match &mut self.upload {
                Some(upload) => upload,
                none => {
                    let begun = self.objects.store.put_multipart(&self.path).await;
                    none.insert(begun.map_err(|error| self.objects.failed(error))?)
                }
            };
            let put = upload.put_part(PutPayload::from_bytes(part)).await;
            put.map_err(|error| self.objects.failed(error))?;
        }
        Ok(())
    }

    /// Makes the object appear; returns its length.
    pub(crate) async fn finish(mut self) -> Result<u64, Error> {
        let rest: Bytes = self.waiting.split().freeze();
        match &mut self.upload {
            None => self.objects.write(&self.path, rest).await?,
            Some(upload) => {
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
