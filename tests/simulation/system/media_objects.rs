//! The object store of the system's media: in memory, unharmed by crashes, and full now and then.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
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
        let is_full = self.simulation.injects_faults() && self.simulation.dice.once_in(8);
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

// The trait's methods are futures in boxes, written out for want of its macro.
impl ObjectStore for MediaObjects {
    fn put_opts<'a, 'b, 'c>(
        &'a self,
        to: &'b Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> BoxFuture<'c, Result<PutResult>>
    where
        Self: 'c,
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            self.allow("an object is written")?;
            self.kept.put_opts(to, payload, options).await
        })
    }

    fn put_multipart_opts<'a, 'b, 'c>(
        &'a self,
        to: &'b Path,
        options: PutMultipartOptions,
    ) -> BoxFuture<'c, Result<Box<dyn MultipartUpload>>>
    where
        Self: 'c,
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            self.allow("an object is begun")?;
            self.kept.put_multipart_opts(to, options).await
        })
    }

    fn get_opts<'a, 'b, 'c>(&'a self, from: &'b Path, options: GetOptions) -> BoxFuture<'c, Result<GetResult>>
    where
        Self: 'c,
        'a: 'c,
        'b: 'c,
    {
        self.kept.get_opts(from, options)
    }

    fn delete_stream(&self, of: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.kept.delete_stream(of)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.kept.list(prefix)
    }

    fn list_with_delimiter<'a, 'b, 'c>(
        &'a self,
        prefix: Option<&'b Path>,
    ) -> BoxFuture<'c, Result<ListResult>>
    where
        Self: 'c,
        'a: 'c,
        'b: 'c,
    {
        self.kept.list_with_delimiter(prefix)
    }

    fn copy_opts<'a, 'b, 'c, 'd>(
        &'a self,
        from: &'b Path,
        to: &'c Path,
        options: CopyOptions,
    ) -> BoxFuture<'d, Result<()>>
    where
        Self: 'd,
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        self.kept.copy_opts(from, to, options)
    }
}
