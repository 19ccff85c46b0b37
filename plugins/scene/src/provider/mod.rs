//! The provider's protocol in both dialects: calls, and the meaning of its answers.
//!
//! ```text
//! Vertex AI   POST /publishers/google/models/{m}:predictLongRunning      Gemini API   POST /models/{m}:predictLongRunning
//!             POST /publishers/google/models/{m}:fetchPredictOperation                GET  /{operation}
//!             GET  https://storage.googleapis.com/storage/v1/b/...                    GET  {uri of the video}
//! ```

mod answers;
mod calls;
mod errors;
mod moderation;
mod videos;

pub(crate) use answers::{Answer, polled, submitted};
pub(crate) use calls::{NAME, download, poll, submission};
pub(crate) use errors::POLICY;
pub(crate) use videos::{Ready, VideoSource};
