//! The public HTTP API: listeners, TLS, HTTP checks, authentication, routes, endpoints, error envelopes.
//!
//! Owns the public listeners, everything hyper leaves to its user (head checks, body timers, connection
//! limits), the check of API keys, the one table of routes, and the one table of errors (`errors`, the only
//! file with their status codes). Never touches the store, a plugin or a provider: every request becomes a
//! call of [`gatehouse_driver::Driver`]. Never computes money, and never serves the admin API. Started by
//! `gateway`.
//!
//! ```text
//! socket -> net/listen (limits, TLS) -> net/transport (timers) -> http/pipeline: head -> routes -> auth -> endpoints
//!                                                                   `-- access_log (log line, metrics) <--'
//! ```

mod backend;
mod config;
mod cors;
mod documentation;
mod edge;
mod endpoints;
mod errors;
mod failed_response;
mod http;
mod net;
mod rate_headers;
mod sse;
#[cfg(test)]
mod tests;

pub use config::{Config, Limits, PublicUrl, Tls, WrongPublicUrl};
pub use cors::{Cors, PageOrigin, WrongPageOrigin};
pub use edge::{Edge, Error};
pub use errors::{ErrorRow, error_table};
pub use gatehouse_net::{Certificates, TlsError, reachable};
pub use http::local::{LocalError, LocalRequests};
pub use http::surfaces::{SurfaceRow, own_paths, surfaces};
