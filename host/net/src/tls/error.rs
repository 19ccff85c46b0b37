//! What is said of a TLS file or setting that cannot be used.

use std::fmt;

/// Why a certificate, a key or a root cannot be used.
#[derive(Debug)]
pub struct TlsError {
    /// The key of the configuration, such as `server.tls.certificate`.
    pub key: String,
    /// What was expected, and what came.
    pub problem: String,
}

impl TlsError {
    /// The problem with the value at `key`.
    pub fn new(key: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { key: key.into(), problem: problem.to_string() }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl std::error::Error for TlsError {}
