//! Where requests come in: listeners, TLS, HTTP hygiene, keys, routes, envelopes.
//!
//! Owns the public listeners, everything hyper leaves to its user (head checks, body timers, connection
//! limits), who is asking, the one table of routes and the one table of errors with their envelopes.
//! Never touches the store, a plugin or a provider: whatever a request wants is asked of
//! [`gatehouse_driver::Driver`]. Never knows money beyond printing it, and never serves the operators' door.
//! Started by `gateway`.
//!
//! ```text
//! socket -> net/listen (limits, tls) -> net/transport (timers) -> http/pipeline: head -> routes -> auth -> endpoints
//!                                                                   `-- access_log (log line, metrics) <--'
//! ```

mod backend;
mod config;
mod edge;
mod endpoints;
mod errors;
mod http;
mod net;
mod sse;
#[cfg(test)]
mod tests;

pub use config::{Config, Limits, PublicUrl, Tls, WrongPublicUrl};
pub use edge::{Edge, Error};
pub use errors::{ErrorRow, error_table};
pub use net::tls::{Certificates, TlsError};
