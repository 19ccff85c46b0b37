//! The calls of plugins for clients, through the queue of the plugin threads: the face of this crate for `driver`.
//!
//! When a fresh version faults, its standby answers (`fallback`), as long as the client has got nothing yet. Knows what serves
//! (`serving`), and of `deploy` nothing but that operators find it behind the same handle.

mod fallback;
pub(crate) mod service;
pub(crate) mod tasks;
pub(crate) mod text;

pub use fallback::ServedBy;
