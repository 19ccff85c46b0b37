//! The public HTTP API: listeners, TLS, HTTP checks, authentication, routes, endpoints, error envelopes.
//!
//! Owns the public listeners, everything hyper leaves to its user (head checks, body timers, connection
//! limits), the check of API keys, the one table of routes, and the one table of errors (`errors`, the only
//! file with their status codes). Never touches the store, a plugin or a provider: every request becomes a
//! call of [`gatehouse_driver::Driver`]. Never computes money, and never serves the admin API. Started by
//! `gateway`.
//!
//! ```text
//! socket -> edge (limits, TLS) -> serving/pipeline: http (head, key, body), routing -> endpoints -> driver
//!                                  `-- http/access_log (log line, metrics) <-- response, sse
//! ```

mod acme;
mod backend;
mod config;
mod cors;
mod documentation;
mod edge;
mod endpoints;
mod errors;
mod http;
mod limits;
mod rate_headers;
mod response;
mod routing;
mod serving;
mod sse;
mod standby;
#[cfg(test)]
mod tests;

pub use acme::Acme;
pub use config::{Config, Limits, PublicUrl, Tls};
pub use cors::{Cors, PageOrigin};
pub use edge::{Edge, Error};
pub use errors::{ErrorRow, error_table};
pub use gatehouse_net::{Certificates, ServedBody, TlsError, reachable};
pub use routing::routes::{SurfaceRow, own_paths, surfaces};
pub use serving::local::{LocalError, LocalRequests};
pub use standby::{AtWork, Forwarding, SendOn, StandbyEdge};
