//! What only this protocol knows of a request that passed. Plain data.

use super::models::Model;
use crate::text::request_log::Prefix;

/// Of either endpoint.
pub(crate) struct Details {
    pub(super) model: &'static Model,
    pub(super) include_usage: bool,
    pub(super) obfuscated: bool,
    /// Log probabilities are asked for, with so many alternatives of each token.
    pub(super) logprobs: Option<usize>,
    pub(super) prompt_tokens: u64,
    /// Every beginning of the prompt that ends with a message, and its tokens.
    pub(super) prefixes: Vec<(Prefix, u64)>,
    /// Vectors are asked for, and no text.
    pub(super) embeddings: Option<EmbeddingsAsked>,
}

/// What a request for embeddings asks for.
pub(super) struct EmbeddingsAsked {
    /// The words or tokens of each input.
    pub(super) inputs: Vec<Vec<String>>,
    /// The full length of a vector of the model, and the length asked for.
    pub(super) full: usize,
    pub(super) dimensions: usize,
    pub(super) is_base64: bool,
}
