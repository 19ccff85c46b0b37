//! The simulated Veo 3.1 of Google, in both dialects: Vertex AI and the Gemini API.
//!
//! Owns the wire protocol of each, the operations behind both, and the files that are read with credentials only. Five
//! origins, as the real ones: the token endpoint of service accounts, Vertex AI, the storage of its buckets, the Gemini API,
//! and one that serves the [record](VeoRecord) to tests. Fetches nothing.
//!
//! ```text
//! POST /token                        -> tokens (RS256 JWT of a service account)           -> a token for an hour
//! POST .../{m}:predictLongRunning    -> check/ (fields, media) -> faults -> operations    vertex, gemini
//! POST .../{m}:fetchPredictOperation -> answer -> bytes inside, or `gs://`                vertex
//! GET  /storage/v1/b/{b}/o/{o}       -> files -> gatehouse_sandbox_files                             storage, with a token
//! GET  /v1beta/models/{m}/operations/{id} -> answer -> an address that needs the key      gemini
//! GET  /v1beta/files/{id}:download   -> a redirect -> files -> gatehouse_sandbox_files               gemini, with the key
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

pub use faults::{MARKERS, Marker, Target};
pub(crate) use provider::Provider;
pub use provider::VeoAddresses;
pub use record::{BegunVideo, DeclinedVideo, Dialect, VeoRecord};
pub(crate) use start::start;
pub use tokens::KEY_FILES;
