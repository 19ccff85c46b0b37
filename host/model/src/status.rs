//! The states of a task, in their order.

use serde::{Deserialize, Serialize};

/// What a client reads as `status`. Only ever moves down this list (invariant I10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Durable, nothing sent.
    Submitted,
    /// Queued, here or at the provider.
    Pending,
    /// The provider works.
    Processing,
    /// Ended well.
    Completed,
    /// Ended badly; refunded.
    Failed,
}

impl Status {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Submitted, Self::Pending, Self::Processing, Self::Completed, Self::Failed];

    /// Whether nothing can change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The status of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}
