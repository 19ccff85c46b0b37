//! What serves, and what takes over: two services with fields of their own.
//!
//! - `versions`: the versions that the plugin store has, and those that are loaded.
//! - `active` ([`Serving`](active::Serving)): which of them serves each family (`registry`), which one is on trial (`canary`), and
//!   every change of that (`switch`), each written to the lists of the plugin store.
//!
//! Knows the stages, by which a version is loaded, and nothing of who orders a deployment (`deploy`) or calls a plugin (`calls`).

pub(crate) mod active;
pub(crate) mod canary;
pub(crate) mod forms;
pub(crate) mod registry;
pub(crate) mod summary;
pub(crate) mod switch;
pub(crate) mod versions;
