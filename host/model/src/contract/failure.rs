//! Why an accepted task ends badly, and who caused it.

use serde::{Deserialize, Serialize};

/// Who caused a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blame {
    /// The request asks for what cannot be done.
    Request,
    /// A moderation filter stopped it.
    Moderation,
    /// Somebody stopped the work at the provider.
    Cancelled,
    /// The customer has reached a limit of the provider.
    Limit,
    /// The work took too long.
    Timeout,
    /// The provider's.
    Upstream,
    /// The operator's account at the provider; clients read it as the provider's.
    Account,
}

/// Why an accepted task ends badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Who caused it.
    pub blame: Blame,
    /// The reason, for the client.
    pub message: String,
}
