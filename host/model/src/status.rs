//! The states of a task, in their order.

use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// What a client reads as `status`. Only ever moves down this list (invariant I10).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Status {
        /// Durable, nothing sent.
        Submitted = "submitted",
        /// Queued, here or at the provider.
        Pending = "pending",
        /// The provider works.
        Processing = "processing",
        /// Ended well.
        Completed = "completed",
        /// Ended badly; refunded.
        Failed = "failed",
    }
}

impl Status {
    /// Whether nothing can change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// The status of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}
