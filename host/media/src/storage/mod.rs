//! Blobs and results in the object store: writing, reading, deletion by age.

mod adopt;
pub(crate) mod copy_result;
pub(crate) mod input;
pub(crate) mod media_store;
pub(crate) mod objects;
pub(crate) mod shared_source;
pub(crate) mod shares;
pub(crate) mod source;
pub(crate) mod sweep;
pub(crate) mod task_blobs;
pub(crate) mod writer;
