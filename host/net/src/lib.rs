//! One HTTP connection of any listener of the gateway: what hyper leaves to its user.
//!
//! Owns how connections are accepted, the timers of each (a head that never ends, a response that is never taken, no request at
//! all), the facts about its framing that hyper does not report, its end after a request or in a shutdown, and the TLS before it.
//! Never decides whom it serves, never knows a request's route, key or answer. The public listeners (`edge`) and the admin
//! listener (`admin`) serve their connections with it, so both keep the same limits.
//!
//! ```text
//! accepted stream -> Handshakes (certificates, limits) -> Transport (timers, framing) -> hyper -> the listener's own service
//! ```

mod activity;
mod connection;
mod framing;
mod listening;
mod network;
mod request;
mod tls;
mod transport;

pub use activity::{Activity, Flushes, RequestActivity};
pub use connection::{
    ConnectionLimits, ConnectionServer, Observed, Protocol, Responder, Responding, ServedBody, ShutdownPhase,
    reached,
};
pub use listening::{accept, listen};
pub use network::{network, reachable};
pub use request::{BodyEnd, RequestFraming, TrackedBody};
pub use tls::{
    Certificates, HandshakeLimits, HandshakeRefusal, Handshakes, TlsError, TlsFiles, read_chain, read_key,
    read_roots,
};
pub use transport::{AcceptedStream, ConnectionFlags};
