//! The object store of the system's media: in memory, unharmed by crashes, and full now and then.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::simulation::Simulation;

/// An object store whose writes are operations at which the process may crash.
pub(crate) struct MediaObjects {
    pub(crate) simulation: Arc<Simulation>,
    pub(crate) kept: Arc<InMemory>,
}

impl MediaObjects {
    fn allow(&self, operation: &'static str) -> Result<()> {
        let is_full = self.simulation.injects_faults() && self.simulation.fault_random.once_in(8);
        if is_full {
            self.simulation.count("the media store was full");
        }
        if is_full || !self.simulation.switch.allow(operation) {
            return Err(object_store::Error::Generic { store: "simulation", source: operation.into() });
        }
        Ok(())
    }
}

impl fmt::Debug for MediaObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MediaObjects")
    }
}

impl fmt::Display for MediaObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MediaObjects")
    }
}

#[async_trait]
impl ObjectStore for MediaObjects {
    async fn put_opts(&self, to: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.allow("an object is written")?;
        self.kept.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.allow("an object is begun")?;
        self.kept.put_multipart_opts(to, options).await
    }

    async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult> {
        self.kept.get_opts(from, options).await
    }

    fn delete_stream(&self, of: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.kept.delete_stream(of)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.kept.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.kept.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.kept.copy_opts(from, to, options).await
    }
}
