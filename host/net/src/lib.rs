//! One HTTP connection of any listener of the gateway: what hyper leaves to its user.
//!
//! Owns the timers of a connection (a head that never ends, a response that is never taken, no request at all),
//! the facts about its framing that hyper does not report, its end in a shutdown, and the TLS before it. Never
//! accepts, never knows a request's route, key or answer. The public listeners (`edge`) and the admin listener
//! (`admin`) serve their connections with it, so both keep the same limits.
//!
//! ```text
//! accepted stream -> Handshakes (certificates, limits) -> Transport (timers, framing) -> hyper -> the listener's own service
//! ```

mod accepted_stream;
mod activity;
mod connection;
mod flushes;
mod framing;
mod network;
mod reachable;
mod shutdown;
mod tls;
mod transport;

pub use accepted_stream::AcceptedStream;
pub use activity::{Activity, RequestActivity};
pub use connection::{
    ConnectionLimits, ConnectionServer, Observed, Protocol, Responder, Responding, ServedBody,
};
pub use flushes::Flushes;
pub use network::network;
pub use reachable::reachable;
pub use shutdown::{ShutdownPhase, reached};
pub use tls::{
    Certificates, HandshakeLimits, HandshakeRefusal, Handshakes, TlsError, TlsFiles, read_chain, read_key,
    read_roots,
};
pub use transport::ConnectionFlags;
