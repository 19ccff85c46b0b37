//! The simulated DashScope: asynchronous video synthesis by the Wan models 2.6 and 2.7.
//!
//! Owns the provider's wire protocol and its table of tasks. Two origins, as the real one: the API, and the store of files.
//! A third serves the [record](DashscopeRecord) to tests. Fetches nothing: URLs of the sandbox's own samples say by their
//! name what they are, others count as right where their host can be there (`common::links`). The limit of 20 polls a second is
//! not enforced.
//!
//! ```text
//! POST /api/v1/services/aigc/video-generation/video-synthesis -> create/ (model, fields, media) -> faults -> tasks
//! GET  /api/v1/tasks?status=..      -> list -> tasks
//! GET  /api/v1/tasks/{id}          -> poll -> tasks -> a freshly signed link
//! POST /api/v1/tasks/{id}/cancel   -> tasks, while PENDING
//! GET  /{id}.mp4?Expires=..        -> files (signature) -> gatehouse_sandbox_files
//! ```

mod create;
mod endpoint;
mod faults;
mod files;
mod list;
mod poll;
mod provider;
mod record;
mod signature;
mod tasks;

pub use faults::{MARKERS, Marker};
pub use provider::DashscopeAddresses;
pub(crate) use provider::{Provider, start};
pub use record::{CreatedVideo, DashscopeRecord, DeclinedVideo};
