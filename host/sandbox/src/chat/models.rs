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
}

pub(super) const MODELS: &[Model] = &[
    Model { id: "gpt-sim", context: 128_000, max_output: 16_384, reasons: false, clone: false },
    Model { id: "gpt-sim-reasoning", context: 400_000, max_output: 128_000, reasons: true, clone: false },
    Model { id: "clone-sim", context: 64_000, max_output: 8192, reasons: false, clone: true },
];
