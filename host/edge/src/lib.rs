//! Where requests come in: listeners, TLS, HTTP hygiene, keys, routes, envelopes.
//!
//! Owns the public listeners, everything hyper leaves to its user (head checks, body timers, connection
//! limits), who is asking, the one table of routes and the one table of errors with their envelopes.
//! Never touches the store, a plugin or a provider: whatever a request wants is asked of
//! [`gatehouse_driver::Driver`]. Never knows money beyond printing it, and never serves the operators' door.
//! Started by `gateway`.
//!
//! ```text
//! socket -> listen (limits, tls) -> wire (timers) -> front: head -> routes -> auth -> surfaces
//!                                                      `-- record (log line, metrics) <--'
//! ```

mod address;
mod answer;
mod auth;
mod backend;
mod body;
mod config;
mod edge;
mod envelope;
mod events;
mod framing;
mod front;
mod head;
mod listen;
mod query;
mod record;
mod routes;
mod surfaces;
mod tally;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

pub use config::{Config, Limits, PublicUrl, Tls, WrongPublicUrl};
pub use edge::{Edge, Error};
pub use envelope::{ErrorRow, error_table};
pub use tls::{Certificates, TlsError};
