//! TLS of a listener: its certificates, the clients it lets in, and the bounds of its handshakes.

mod certificates;
mod challenges;
mod handshakes;

pub use certificates::{Certificates, TlsError, TlsFiles, read_chain, read_key, read_roots};
pub use handshakes::{HandshakeLimits, HandshakeRefusal, Handshakes};
