//! The object store: writing, reading, deletion by age, and what customers hold of the disk. Knows no other part of this crate.

pub(crate) mod bucket;
pub(crate) mod bucket_files;
pub(crate) mod objects;
pub(crate) mod shares;
pub(crate) mod sweep;
pub(crate) mod uploads;
pub(crate) mod writer;
