//! The shape of a request, as tables for [`crate::common::schema`].

use crate::common::schema::Kind::{
    Any, Flag, Integer, List, Name, Number, Object, Text, TextOr, Variants, Word,
};
use crate::common::schema::{Field, Kind, OTHERS, Variant, optional, required};

const MANY: usize = usize::MAX;
const MAX_MESSAGES: usize = 100_000;

const TYPE: Field = required("type", Any);
const COUNT: Kind = Integer(0, i64::MAX);
const CACHE_CONTROL: Field = optional(
    "cache_control",
    Variants("type", &[("ephemeral", &[TYPE, optional("ttl", Word(&["5m", "1h"]))])]),
);

const FILE_SOURCE: Variant = ("file", &[TYPE, required("file_id", Text)]);
const URL_SOURCE: Variant = ("url", &[TYPE, required("url", Text)]);
const IMAGE_SOURCE: Kind = Variants(
    "type",
    &[
        (
            "base64",
            &[
                TYPE,
                required("media_type", Word(&["image/jpeg", "image/png", "image/gif", "image/webp"])),
                required("data", Text),
            ],
        ),
        FILE_SOURCE,
        URL_SOURCE,
    ],
);
const DOCUMENT_SOURCE: Kind = Variants(
    "type",
    &[
        ("base64", &[TYPE, required("media_type", Word(&["application/pdf"])), required("data", Text)]),
        ("content", &[required("content", Any), OTHERS]),
        FILE_SOURCE,
        ("text", &[TYPE, required("media_type", Word(&["text/plain"])), required("data", Text)]),
        URL_SOURCE,
    ],
);

const DOCUMENT: Variant = (
    "document",
    &[
        TYPE,
        required("source", DOCUMENT_SOURCE),
        optional("title", Any),
        optional("context", Any),
        optional("citations", Any),
        CACHE_CONTROL,
    ],
);
const IMAGE: Variant = ("image", &[TYPE, required("source", IMAGE_SOURCE), CACHE_CONTROL]);
const SEARCH_RESULT: Variant = ("search_result", &[CACHE_CONTROL, OTHERS]);
const TEXT: Variant =
    ("text", &[TYPE, required("text", Text), optional("citations", List(&Any, 0, MANY)), CACHE_CONTROL]);
const TOOL_USE: &[Field] = &[
    TYPE,
    required("id", Name(MANY, "^[a-zA-Z0-9_-]+$")),
    required("name", Text),
    required("input", Object(&[OTHERS])),
    optional("caller", Any),
    CACHE_CONTROL,
];
const RESULT_CONTENT: Kind =
    TextOr(&Text, &List(&Variants("type", &[DOCUMENT, IMAGE, SEARCH_RESULT, TEXT]), 0, MANY));
/// Every block, in the order the API lists them.
const BLOCK: Kind = Variants(
    "type",
    &[
        DOCUMENT,
        IMAGE,
        ("redacted_thinking", &[TYPE, required("data", Text)]),
        SEARCH_RESULT,
        ("server_tool_use", TOOL_USE),
        TEXT,
        ("thinking", &[TYPE, required("thinking", Text), required("signature", Text)]),
        (
            "tool_result",
            &[
                TYPE,
                required("tool_use_id", Text),
                optional("content", RESULT_CONTENT),
                optional("is_error", Flag),
                CACHE_CONTROL,
            ],
        ),
        ("tool_use", TOOL_USE),
        ("web_search_tool_result", &[CACHE_CONTROL, OTHERS]),
    ],
);
const MESSAGE: Kind =
    Object(&[required("role", Text), required("content", TextOr(&Text, &List(&BLOCK, 0, MANY)))]);

const DISPLAY: Field = optional("display", Word(&["summarized", "omitted"]));
const THINKING: Kind = Variants(
    "type",
    &[
        ("adaptive", &[TYPE, DISPLAY]),
        ("disabled", &[TYPE]),
        ("enabled", &[TYPE, required("budget_tokens", Integer(1024, i64::MAX)), DISPLAY]),
    ],
);
const PARALLEL: Field = optional("disable_parallel_tool_use", Flag);
const TOOL_CHOICE: Kind = Variants(
    "type",
    &[
        ("any", &[TYPE, PARALLEL]),
        ("auto", &[TYPE, PARALLEL]),
        ("none", &[TYPE]),
        ("tool", &[TYPE, required("name", Text), PARALLEL]),
    ],
);
const SYSTEM_BLOCK: Kind =
    Variants("type", &[("text", &[TYPE, required("text", Text), optional("citations", Any), CACHE_CONTROL])]);
const OUTPUT_CONFIG: Kind = Object(&[
    optional("effort", Word(&["low", "medium", "high", "xhigh", "max"])),
    optional("format", Variants("type", &[("json_schema", &[TYPE, required("schema", Object(&[OTHERS]))])])),
]);

/// The first 8 are all that count_tokens takes; the newer version does not take the last 3.
const FIELDS: &[Field; 20] = &[
    required("model", Text),
    required("messages", List(&MESSAGE, 1, MAX_MESSAGES)),
    optional("system", TextOr(&Text, &List(&SYSTEM_BLOCK, 0, MANY))),
    // Their shapes depend on the request's betas: see `tools`.
    optional("tools", List(&Object(&[OTHERS]), 0, MANY)),
    optional("tool_choice", TOOL_CHOICE),
    optional("thinking", THINKING),
    CACHE_CONTROL,
    optional("output_config", OUTPUT_CONFIG),
    required("max_tokens", COUNT),
    optional("stop_sequences", List(&Text, 0, MANY)),
    optional("stream", Flag),
    optional("metadata", Object(&[optional("user_id", Text)])),
    optional("service_tier", Word(&["auto", "standard_only"])),
    optional("speed", Word(&["standard", "fast"])),
    optional("container", Any),
    optional("inference_geo", Any),
    optional("diagnostics", Any),
    optional("temperature", Number(0.0, 1.0)),
    optional("top_p", Number(0.0, 1.0)),
    optional("top_k", COUNT),
];

/// A request's body.
pub(super) const BODY: Kind = Object(FIELDS);
/// The same in version 2026-10-21.
pub(super) const NEWER_BODY: Kind = Object(FIELDS.split_at(17).0);
/// The body of count_tokens.
pub(super) const COUNT_BODY: Kind = Object(FIELDS.split_at(8).0);

/// A tool the client describes itself.
pub(super) const CUSTOM_TOOL: Variant = (
    "custom",
    &[
        optional("type", Any),
        required("name", Name(128, "^[a-zA-Z0-9_-]{1,128}$")),
        optional("description", Text),
        required("input_schema", Object(&[required("type", Word(&["object"])), OTHERS])),
        CACHE_CONTROL,
        optional("strict", Any),
        optional("eager_input_streaming", Any),
        optional("defer_loading", Any),
        optional("input_examples", Any),
        optional("allowed_callers", Any),
    ],
);

/// A versioned tool.
pub(super) struct VersionedTool {
    pub(super) variant: Variant,
    /// The only name it may have.
    pub(super) name: &'static str,
    /// The `anthropic-beta` it needs.
    pub(super) beta: Option<&'static str>,
}

const fn versioned(
    tag: &'static str,
    fields: &'static [Field],
    name: &'static str,
    beta: Option<&'static str>,
) -> VersionedTool {
    VersionedTool { variant: (tag, fields), name, beta }
}

const NAME: Field = required("name", Text);
const PLAIN: &[Field] = &[TYPE, NAME, CACHE_CONTROL];
const EDITOR: &[Field] = &[TYPE, NAME, CACHE_CONTROL, optional("max_characters", Any)];
const SCREEN: &[Field] = &[
    TYPE,
    NAME,
    CACHE_CONTROL,
    required("display_width_px", COUNT),
    required("display_height_px", COUNT),
    optional("display_number", Any),
];
const WEB_SEARCH: &[Field] = &[
    TYPE,
    NAME,
    CACHE_CONTROL,
    optional("max_uses", Any),
    optional("allowed_domains", Any),
    optional("blocked_domains", Any),
    optional("user_location", Any),
];
const BETA_2024: Option<&str> = Some("computer-use-2024-10-22");

/// Every versioned tool of the API, in the order it lists them.
pub(super) const VERSIONED_TOOLS: &[VersionedTool] = &[
    versioned("bash_20241022", PLAIN, "bash", BETA_2024),
    versioned("bash_20250124", PLAIN, "bash", None),
    versioned("computer_20241022", SCREEN, "computer", BETA_2024),
    versioned("computer_20250124", SCREEN, "computer", Some("computer-use-2025-01-24")),
    versioned("computer_20251124", SCREEN, "computer", Some("computer-use-2025-11-24")),
    versioned("text_editor_20241022", PLAIN, "str_replace_editor", BETA_2024),
    versioned("text_editor_20250124", PLAIN, "str_replace_editor", None),
    versioned("text_editor_20250429", PLAIN, "str_replace_based_edit_tool", None),
    versioned("text_editor_20250728", EDITOR, "str_replace_based_edit_tool", None),
    versioned("web_search_20250305", WEB_SEARCH, "web_search", None),
];
