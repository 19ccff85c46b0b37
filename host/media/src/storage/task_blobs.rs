//! The blobs one task may name: a look at the store through the task's own list.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use gatehouse_model::{BlobId, CustomerId};
use gatehouse_upstream::{Blobs, OpenBlob};

use crate::storage::media_store::MediaStore;
use crate::storage::objects::Error;

/// See [`MediaStore::blobs_of`]. Blobs saved through it belong to the task from then on.
pub struct TaskBlobs {
    media: MediaStore,
    customer: Option<CustomerId>,
    own: Mutex<HashSet<BlobId>>,
}

impl MediaStore {
    /// The blobs one task may name, for its probes and calls.
    #[must_use]
    pub fn blobs_of(&self, blobs: impl IntoIterator<Item = BlobId>) -> TaskBlobs {
        TaskBlobs { media: self.clone(), customer: None, own: Mutex::new(blobs.into_iter().collect()) }
    }
}

impl TaskBlobs {
    /// The same for that customer's task: its links are fetched with the customer's permits.
    #[must_use]
    pub fn of(self, customer: &CustomerId) -> Self {
        Self { customer: Some(customer.clone()), ..self }
    }

    /// Whose links they are that the task names.
    pub(crate) fn customer(&self) -> Option<&CustomerId> {
        self.customer.as_ref()
    }

    /// Opens one of the task's blobs; `None` when it is not among them, or gone.
    pub(crate) async fn read(&self, id: BlobId) -> Result<Option<OpenBlob>, Error> {
        if self.owns(id) { self.media.open_blob(id).await } else { Ok(None) }
    }

    pub(crate) fn add(&self, id: BlobId) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    fn owns(&self, id: BlobId) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

impl Blobs for TaskBlobs {
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>> {
        Box::pin(async move { self.read(id).await.map_err(io::Error::other) })
    }

    fn save<'a>(&'a self, body: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>> {
        Box::pin(async move {
            let id = self.media.save_blob(body).await?;
            self.add(id);
            Ok(id)
        })
    }
}
