//! Sockets: listeners, TLS, the timers and the framing of a connection, connection limits. Never reads what a request asks for.

pub(crate) mod connection_limits;
mod framing;
pub(crate) mod listen;
pub(crate) mod tls;
pub(crate) mod transport;
