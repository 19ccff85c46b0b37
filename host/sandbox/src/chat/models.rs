//! The models and their limits, as data.

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
