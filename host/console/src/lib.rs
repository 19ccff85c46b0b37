//! The console: pages for operators, served by the admin listener.
//!
//! Owns HTML, style and scripts. Every page is rendered from the typed results of the admin service; it never opens the
//! store and never keeps a copy of what it shows. Works without a script: scripts only copy, follow what changes, and
//! warn. Never checks a host, a cookie or an origin: the listener (`admin`) does before a page is asked for.

mod assets;
mod console;
mod context;
mod error;
mod form;
mod format;
mod multipart;
mod once;
mod pages;
mod parts;
mod request;
mod routes;
mod runs;
mod schema_form;
#[cfg(test)]
mod tests;

pub use console::Pages;
pub use context::{Facts, SandboxSecrets};
