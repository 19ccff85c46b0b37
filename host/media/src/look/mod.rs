//! Looks at media for plugins: behind a URL, in a blob, in a result. Knows `edit`, `links`, the blobs
//! (`media_store`) and what media are (`probe`).

pub(crate) mod look_at;
mod remote;
