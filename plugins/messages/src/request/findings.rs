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
    /// The provider speaks chat completions, whose texts may be blank and whose ids have any letters.
    pub(crate) is_chat: bool,
}

/// Bytes of text that make a token, as most tokenizers have it.
const BYTES_OF_A_TOKEN: u64 = 4;
/// Tokens of a picture, about.
const TOKENS_OF_A_PICTURE: u64 = 1500;

impl Findings {
    /// Tokens the model reads, about.
    pub(crate) fn tokens(&self) -> u64 {
        (self.input_bytes / BYTES_OF_A_TOKEN).max(1) + u64::from(self.pictures) * TOKENS_OF_A_PICTURE
    }
}
