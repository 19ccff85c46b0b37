//! How bytes that are kept come to a request and from a reply. The other side is in `media`.

use std::io;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use gatehouse_model::BlobId;

/// The blobs one task may name.
pub trait Blobs: Send + Sync {
    /// Opens a blob; `None` when it is not this task's, or gone.
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>>;

    /// Keeps a body as a new blob of this task. An error of `body` is returned as it came, and nothing
    /// is kept then.
    fn save<'a>(&'a self, body: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>>;
}

/// A blob being read.
pub struct OpenBlob {
    /// Its type by its own bytes.
    pub mime: String,
    /// Its length; `body` brings exactly as much.
    pub length: u64,
    /// The bytes, in pieces.
    pub body: BoxStream<'static, io::Result<Bytes>>,
}

/// The blob a `blob:<id>` string names, if it is one.
pub(crate) fn named(text: &str) -> Option<BlobId> {
    text.strip_prefix("blob:")?.parse().ok()
}
