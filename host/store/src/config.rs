//! The store's settings.

use serde::{Deserialize, Serialize};

/// How the store uses memory and groups its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Memory for pages of the file, in MiB.
    pub cache_mib: usize,
    /// Commands that may wait for the writer; one more is refused as [`crate::StoreError::Busy`].
    pub queue: usize,
    /// Commands in one commit. Bounds how long the first of a batch waits for the last.
    pub batch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { cache_mib: 64, queue: 8192, batch: 1024 }
    }
}
