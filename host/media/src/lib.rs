//! Media: blobs, probes, copies of results, signed links.
//!
//! Owns every byte that is too large for a task's record: files that clients embed in requests (blobs, kept for a
//! day), results of providers (kept while their links are valid; as they came, or a tile or a clip of them), facts
//! about both (read from their own bytes), and the links through which clients read results.
//!
//! Never opens a socket (`upstream` fetches), never knows which task owns which blob (the caller passes the list),
//! never trusts a declared type, and keeps no index: object keys carry names and times. Called by `driver`.
//!
//! ```text
//! blobs/<day of creation>/<blob id>              files embedded in requests, and replies kept as blobs
//! media/<day of expiry>/<expiry s>-<name.ext>    results; the expiry is signed into the link
//!
//! results, look --> links --> media_store --> edit, ingest --> storage, probe
//! ```

mod config;
mod edit;
mod ingest;
mod links;
mod look;
mod media_store;
mod probe;
mod results;
mod storage;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use ingest::extract::{ExtractError, Extracted, NewBlob};
pub use ingest::linked::BadLink;
pub use links::{MediaFile, MediaRefusal};
pub use media_store::{MediaStore, TaskBlobs};
pub use probe::facts::facts;
pub use results::copy_result::{InputError, ResultSources};
pub use results::source::SaveError;
pub use storage::bucket::{S3Config, Secrets};
pub use storage::bucket_files::{BucketFileError, BucketFiles};
pub use storage::objects::{Error, StoreOutage};
pub use storage::shares::ShareExceeded;
pub use storage::sweep::Swept;
