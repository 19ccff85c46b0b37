//! The models and their features, as data.

/// A model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: &'static str,
    /// Tokens of an answer.
    pub(super) max_output: u64,
    /// Tokens of a prompt.
    pub(super) context: u64,
    /// Takes temperature or `top_p`, and `top_k`; otherwise none of them.
    pub(super) sampling: bool,
    /// `thinking.type` may be `enabled`.
    pub(super) enabled: bool,
    /// `thinking.type` may be `adaptive`.
    pub(super) adaptive: bool,
    /// The last message may be the assistant's.
    pub(super) prefill: bool,
    /// Messages after the first may be of role `system`.
    pub(super) system_messages: bool,
    /// Thinking is shown unless the request hides it.
    pub(super) shows_thinking: bool,
    /// Versioned tools it takes.
    pub(super) tools: &'static [&'static str],
}

#[rustfmt::skip]
const COMMON_TOOLS: &[&str] = &[
    "bash_20250124", "computer_20250124", "computer_20251124", "text_editor_20250124", "text_editor_20250429",
    "text_editor_20250728", "web_search_20250305",
];

#[rustfmt::skip]
const LATEST_TOOLS: &[&str] = &[
    "bash_20250124", "computer_20251124", "text_editor_20250124", "text_editor_20250429", "text_editor_20250728",
    "web_search_20250305",
];

const OPUS_4_5: Model = Model {
    id: "claude-opus-4-5-20251101",
    max_output: 64_000,
    context: 200_000,
    sampling: true,
    enabled: true,
    adaptive: false,
    prefill: true,
    system_messages: false,
    shows_thinking: true,
    tools: COMMON_TOOLS,
};

const OPUS_4_6: Model = Model {
    id: "claude-opus-4-6",
    max_output: 128_000,
    context: 1_000_000,
    adaptive: true,
    prefill: false,
    ..OPUS_4_5
};

const OPUS_4_7: Model = Model {
    id: "claude-opus-4-7",
    sampling: false,
    enabled: false,
    shows_thinking: false,
    tools: LATEST_TOOLS,
    ..OPUS_4_6
};

pub(super) const MODELS: &[Model] = &[
    OPUS_4_5,
    OPUS_4_6,
    Model { id: "claude-sonnet-4-6", ..OPUS_4_6 },
    OPUS_4_7,
    Model { id: "claude-opus-4-8", system_messages: true, ..OPUS_4_7 },
];
