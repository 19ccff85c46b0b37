//! Signed links to the files of results, which expire.

use std::io;

use crate::common::server::parameter;
use crate::common::signing_key::SigningKey;

/// Signs links; new at each start.
pub(crate) struct LinkKey(SigningKey);

impl LinkKey {
    pub(crate) fn new() -> io::Result<Self> {
        SigningKey::new().map(Self)
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
        self.0.code(&format!("{path}\n{until}"))
    }
}
