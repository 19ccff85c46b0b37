//! Signed links to the files of results, which expire.

use std::io;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::common::server::parameter;

/// Signs links; new at each start.
pub(crate) struct LinkKey([u8; 32]);

impl LinkKey {
    pub(crate) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// The query of a link to `path` that ends at `until`, ms.
    pub(crate) fn query(&self, path: &str, until: u64) -> String {
        format!("X-Tos-Expires={until}&X-Tos-Signature={}", self.signature(path, until))
    }

    /// Whether `query` opens `path` at `now`.
    pub(crate) fn opens(&self, path: &str, query: &str, now: u64) -> bool {
        let until = parameter(query, "X-Tos-Expires").and_then(|until| until.parse::<u64>().ok());
        let signature = parameter(query, "X-Tos-Signature").unwrap_or_default();
        until.is_some_and(|until| now < until && self.signature(path, until) == signature)
    }

    fn signature(&self, path: &str, until: u64) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(format!("{path}\n{until}").as_bytes());
        format!("{:x}", mac.finalize().into_bytes())
    }
}
