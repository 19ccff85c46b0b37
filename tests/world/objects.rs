//! Where the house of a simulated world keeps its media: in memory, surviving every cut, and now and then full.

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

use crate::world::World;

/// An object store that needs power.
pub(crate) struct Cellar {
    pub(crate) world: Arc<World>,
    pub(crate) kept: Arc<InMemory>,
}

impl Cellar {
    fn ask(&self, what: &'static str) -> Result<()> {
        let is_full = self.world.is_rough() && self.world.dice.once_in(8);
        if is_full {
            self.world.count("the media store was full");
        }
        if is_full || !self.world.power.step(what) {
            return Err(object_store::Error::Generic { store: "cellar", source: what.into() });
        }
        Ok(())
    }
}

impl fmt::Debug for Cellar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cellar")
    }
}

impl fmt::Display for Cellar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cellar")
    }
}

// The trait's methods are futures in boxes, written out for want of its macro.
impl ObjectStore for Cellar {
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
            self.ask("an object is kept")?;
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
            self.ask("an object is begun")?;
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
