//! The simulated provider of the imagine family: xAI's image API, with the answers of its public reference.
//!
//! Owns the wire protocol of generations and edits, and the table of calls and images. A call answers when its images
//! are made. They are files on an origin of their own, behind links that end; a third origin serves the
//! [record](ImagineRecord) to tests. Fetches nothing: an https URL of a reference counts as reachable and as a picture
//! of 1024x1024. Not simulated, and refused: `deferred`, `storage_options`, files by id.
//!
//! ```text
//! POST /v1/images/generations|edits -> endpoint -> schema, reference -> faults -> answer -> table
//! GET  /v1/image-generation-models  -> models
//! GET  /xai-imgen/..jpeg            -> files -> common::picture
//! ```

mod answer;
mod endpoint;
mod faults;
mod files;
mod models;
mod provider;
mod reference;
mod refusal;
mod schema;
mod table;

pub use faults::{MARKERS, Marker};
pub use provider::ImagineAddresses;
pub(crate) use provider::{Provider, start};
pub use table::{ImageCall, ImagineRecord};
