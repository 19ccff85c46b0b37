//! What an answer must know of its request.

use serde::{Deserialize, Serialize};

/// Kept between a request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What clients read as `model`.
    pub(crate) model: String,
    /// The provider's name of it, which is not theirs to read.
    pub(crate) upstream: String,
    /// The provider speaks messages.
    pub(crate) translated: bool,
    /// The client wants the chunk that counts tokens.
    pub(crate) counted: bool,
}
