//! What the checks of a request collect for its translation.

use gatehouse_text_protocols::json::Edits;

/// What the model reads, and what is rewritten for a Messages provider.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Bytes of text the model reads.
    pub(crate) input_bytes: u64,
    /// Images and documents the model reads.
    pub(crate) pictures: u32,
    /// Values to be replaced.
    pub(crate) edits: Edits,
    /// The provider does not take messages of role `system`.
    pub(crate) folds_system: bool,
}
