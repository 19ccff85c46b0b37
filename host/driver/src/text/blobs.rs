//! The media embedded in one request that is answered at once, kept in memory for as long as it takes to send them on.

use std::io;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use gatehouse_media::NewBlob;
use gatehouse_model::BlobId;
use gatehouse_upstream::{Blobs, OpenBlob};

/// What was cut out of the request's body.
pub(crate) struct RequestBlobs(pub(crate) Vec<NewBlob>);

impl Blobs for RequestBlobs {
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>> {
        let found = self.0.iter().find(|blob| blob.id == id).map(|blob| OpenBlob {
            mime: blob.facts.mime.clone(),
            length: blob.bytes.len() as u64,
            body: stream::iter([Ok(blob.bytes.clone())]).boxed(),
        });
        Box::pin(async move { Ok(found) })
    }

    fn save<'a>(&'a self, _: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>> {
        Box::pin(async { Err(io::Error::other("an answer of this kind is not kept")) })
    }
}
