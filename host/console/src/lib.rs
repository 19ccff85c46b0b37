//! The console: pages for operators, served by the admin listener.
//!
//! Owns HTML, style and scripts. Lists, pages and forms of resources are made of one description each (`kinds`) and of the
//! admin API's own schemas, by requests of the API; a few pages are their own and read the typed results of the service. It
//! never opens the store and never keeps a copy of what it shows. Works without a script: scripts only copy, follow what changes, and
//! warn. Never checks a host, a cookie or an origin: the listener (`admin`) does before a page is asked for.

mod assets;
mod console;
mod error;
mod form;
mod format;
mod kinds;
mod noted_reads;
mod pages;
mod parts;
mod recipes;
mod request;
mod resource;
mod routes;
mod runs;
mod schema_form;
#[cfg(test)]
mod tests;

pub use console::Pages;
pub use request::{Facts, SandboxSecrets};
