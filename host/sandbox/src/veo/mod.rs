//! The simulated Veo 3.1 of Google, on Vertex AI.
//!
//! Owns the wire protocol, the operations behind it, and the files that are read with credentials only. Four origins, as the
//! real ones: the token endpoint of service accounts, Vertex AI, the storage of its buckets, and one that serves the
//! [record](VeoRecord) to tests. Fetches nothing.
//!
//! ```text
//! POST /token                        -> tokens (RS256 JWT of a service account)           -> a token for an hour
//! POST .../{m}:predictLongRunning    -> check/ (fields, media) -> faults -> operations    vertex
//! POST .../{m}:fetchPredictOperation -> answer -> bytes inside, or `gs://`                vertex
//! GET  /storage/v1/b/{b}/o/{o}       -> files -> gatehouse_sandbox_files                             storage, with a token
//! ```

mod api;
mod check;
mod faults;
mod operations;
mod provider;
mod record;
mod refusal;
mod start;
mod tokens;

pub use faults::{MARKERS, Marker};
pub(crate) use provider::Provider;
pub use provider::VeoAddresses;
pub use record::{BegunVideo, DeclinedVideo, VeoRecord};
pub(crate) use start::start;
pub use tokens::KEY_FILES;
#[cfg(test)]
pub(crate) use tokens::tests::assertion_of;
