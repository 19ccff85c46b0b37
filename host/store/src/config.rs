//! The store's settings.

use serde::{Deserialize, Serialize};

/// How the store uses memory and groups its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Memory for pages of the file, in MiB. A quarter as much, of a database too, is for rows of customers at work.
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

impl Config {
    /// Commands in one commit: with none nothing would ever be done.
    pub(crate) fn commands(&self) -> usize {
        self.batch.max(1)
    }

    /// What rows may take that outlive a commit.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.cache_mib.saturating_mul(1 << 20) / 4
    }
}
