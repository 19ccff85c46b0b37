//! The models and what each of them takes, as data.

/// A model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: &'static str,
    /// Tokens.
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
    /// A `system` turn may stand among the messages.
    pub(super) system_turns: bool,
    /// Thinking is shown unless the request says otherwise.
    pub(super) shows_thinking: bool,
    /// Versioned tools it takes.
    pub(super) tools: &'static [&'static str],
}

const COMMON: &[&str] = &[
    "bash_20250124",
    "computer_20250124",
    "computer_20251124",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "web_search_20250305",
];

const LATEST: &[&str] = &[
    "bash_20250124",
    "computer_20251124",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
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
    system_turns: false,
    shows_thinking: true,
    tools: COMMON,
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
    tools: LATEST,
    ..OPUS_4_6
};

/// Every model there is.
pub(super) const MODELS: &[Model] = &[
    OPUS_4_5,
    OPUS_4_6,
    Model { id: "claude-sonnet-4-6", ..OPUS_4_6 },
    OPUS_4_7,
    Model { id: "claude-opus-4-8", system_turns: true, ..OPUS_4_7 },
];

/// A versioned tool.
pub(super) struct Kind {
    pub(super) tag: &'static str,
    /// The only name it may have.
    pub(super) name: &'static str,
    /// The `anthropic-beta` it needs.
    pub(super) beta: Option<&'static str>,
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
}

const fn kind(tag: &'static str, name: &'static str, beta: Option<&'static str>) -> Kind {
    Kind { tag, name, beta, required: &[], optional: &[] }
}

const fn screen(tag: &'static str, beta: &'static str) -> Kind {
    Kind {
        required: &["display_width_px", "display_height_px"],
        optional: &["display_number"],
        ..kind(tag, "computer", Some(beta))
    }
}

const BETA_2024: Option<&str> = Some("computer-use-2024-10-22");

/// Every versioned tool the API knows, in the order it lists them.
pub(super) const KINDS: &[Kind] = &[
    kind("bash_20241022", "bash", BETA_2024),
    kind("bash_20250124", "bash", None),
    screen("computer_20241022", "computer-use-2024-10-22"),
    screen("computer_20250124", "computer-use-2025-01-24"),
    screen("computer_20251124", "computer-use-2025-11-24"),
    kind("text_editor_20241022", "str_replace_editor", BETA_2024),
    kind("text_editor_20250124", "str_replace_editor", None),
    kind("text_editor_20250429", "str_replace_based_edit_tool", None),
    Kind {
        optional: &["max_characters"],
        ..kind("text_editor_20250728", "str_replace_based_edit_tool", None)
    },
    Kind {
        optional: &["max_uses", "allowed_domains", "blocked_domains", "user_location"],
        ..kind("web_search_20250305", "web_search", None)
    },
];
