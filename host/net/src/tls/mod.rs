//! TLS of a listener: its certificates, the clients it lets in, and the bounds of its handshakes.

mod certificates;
mod error;
mod handshakes;
mod pem_files;

pub use certificates::{Certificates, TlsFiles};
pub use error::TlsError;
pub use handshakes::{HandshakeLimits, HandshakeRefusal, Handshakes};
pub use pem_files::{read_chain, read_key, read_roots};
