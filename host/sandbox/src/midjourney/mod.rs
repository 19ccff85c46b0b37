//! The simulated image provider behind the journey family: the HTTP protocol of a midjourney-proxy.
//!
//! Owns the protocol, its table of tasks, and an engine that checks prompts and draws. Two origins: the API, with the
//! secret header `mj-api-secret` and a speed in front of every path (`/mj-relax`, `/mj-fast`, `/mj-turbo`, or none,
//! which is fast), and the files results link to. A third origin serves the [record](MidjourneyRecord) to tests. Each
//! key is an account with tasks of its own: the others answer as if they did not exist.
//!
//! Pictures are real PNG files, a quarter of the real size on each side. A grid has four colours, one for each tile,
//! and each tile shows its number as that many white squares. An upscaled tile keeps its colour; what is made from a
//! picture (variations, zooms, films) has colours near it. Calls no hook and fetches no image.
//!
//! ```text
//! POST /mj/submit/...            -> submit/ (binding, rules, codes) -> engine/ -> tasks/
//! GET  /mj/task/<id>/fetch       -> read -> tasks/ (the record of a task at this moment)
//! POST /mj/task/list-by-condition -> read
//! GET  /attachments/..?ex=&hm=   -> files (signature) -> drawn on demand
//! ```

mod api;
mod engine;
mod faults;
mod files;
mod link;
mod provider;
mod read;
mod record;
mod refusal;
mod start;
mod submit;
mod tasks;

pub use faults::{MARKERS, Marker};
pub use provider::MidjourneyAddresses;
pub(crate) use provider::Provider;
pub use record::{AccountRecord, Declined, ListRead, MidjourneyRecord, TaskRecord};
pub(crate) use start::start;
