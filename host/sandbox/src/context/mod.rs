//! The simulated context-image provider: FLUX.1 Kontext pro and max, with the answers of its public API.
//!
//! Owns the provider's wire protocol and its table of jobs. It has three origins, as the real one: submits and
//! credits, results, files. The submit origin has no results, so a client that builds the polling address itself
//! fails here as it fails at the real one. A fourth origin serves the [record](ContextRecord) to tests.
//! Fetches nothing: every image URL counts as reachable; its size is known for the sandbox's own samples and
//! 1024x1024 otherwise. Accepts a webhook, never calls it.
//!
//! ```text
//! POST /v1/flux-kontext-pro|max -> submit/ (schema, input images) -> faults -> jobs
//! GET  /v1/get_result?id=       -> poll -> jobs -> a freshly signed link
//! GET  /results/..?se=&sig=     -> delivery (signature) -> common::picture
//! ```

mod delivery;
mod faults;
mod jobs;
mod poll;
mod provider;
pub(crate) mod record;
mod refusal;
mod signature;
mod start;
mod submit;

pub use faults::{MARKERS, Marker};
pub use provider::ContextAddresses;
pub(crate) use provider::Provider;
pub use record::{ContextRecord, Declined, Submit};
pub(crate) use start::start;
