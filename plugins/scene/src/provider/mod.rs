//! The provider's protocol: calls, and the meaning of its answers.
//!
//! ```text
//! POST /publishers/google/models/{m}:predictLongRunning
//! POST /publishers/google/models/{m}:fetchPredictOperation
//! GET  https://storage.googleapis.com/storage/v1/b/...
//! ```

mod answers;
mod calls;
mod errors;
mod moderation;
mod videos;

pub(crate) use answers::{Answer, polled, submitted};
pub(crate) use calls::{NAME, Settings, download, poll, submission};
pub(crate) use errors::POLICY;
pub(crate) use videos::{Ready, VideoSource};
