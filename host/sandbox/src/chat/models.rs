//! The models and their limits, and what a request asks of one. Plain data.

use crate::text::request_log::Prefix;

/// A model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: &'static str,
    /// Tokens of a prompt.
    pub(super) context: u64,
    /// Tokens of an answer.
    pub(super) max_output: u64,
    /// Thinks before it answers: takes an effort, no `max_tokens`, no sampling.
    pub(super) reasons: bool,
    /// A clone: no newer fields, usage on the last chunk of content, `reasoning_content`.
    pub(super) clone: bool,
    /// Numbers of a vector; `None` of a model that makes text.
    pub(super) dimensions: Option<usize>,
    /// Makes shorter vectors on request.
    pub(super) shortens: bool,
}

const TEXT: Model = Model {
    id: "",
    context: 128_000,
    max_output: 16_384,
    reasons: false,
    clone: false,
    dimensions: None,
    shortens: false,
};
const VECTORS: Model = Model { context: 8192, max_output: 0, dimensions: Some(1536), shortens: true, ..TEXT };

pub(super) const MODELS: &[Model] = &[
    Model { id: "gpt-sim", ..TEXT },
    Model { id: "gpt-sim-reasoning", context: 400_000, max_output: 128_000, reasons: true, ..TEXT },
    Model { id: "clone-sim", context: 64_000, max_output: 8192, clone: true, ..TEXT },
    Model { id: "embed-sim", ..VECTORS },
    Model { id: "embed-sim-old", shortens: false, ..VECTORS },
];

/// What only this protocol knows of a request that passed, of either endpoint.
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
