//! Sockets: listeners, TLS, connections with their timers and framing, concurrency limits, the phases of a
//! shutdown. Never reads what a request wants.

pub(crate) mod activity;
pub(crate) mod concurrency_limit;
mod connection;
mod framing;
pub(crate) mod listen;
pub(crate) mod shutdown;
pub(crate) mod tls;
pub(crate) mod transport;
