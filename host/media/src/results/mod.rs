//! Results: copied from their source, edited, kept. Knows `edit`, `links`, the blobs (`media_store`) and what media are (`probe`).

pub(crate) mod copy_result;
pub(crate) mod source;
