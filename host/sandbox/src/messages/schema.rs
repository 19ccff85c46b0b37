//! The shape of a request, as tables for [`crate::common::schema`].

use crate::common::schema::Kind::{
    Any, Flag, Integer, List, Name, Number, Object, Text, TextOr, Variants, Word,
};
use crate::common::schema::{Field, Kind, Variant, fields, object};

const MANY: usize = usize::MAX;
const MAX_MESSAGES: usize = 100_000;

const COUNT: Kind = Integer(0, i64::MAX);
const CACHE: Kind = Variants("type", &[("ephemeral", &fields! { ttl?: Word(&["5m", "1h"]) })]);

const fn base64(media_type: &'static [&'static str]) -> [Field; 2] {
    fields! { media_type: Word(media_type), data: Text }
}

const IMAGE_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];
const FILE_SOURCE: Variant = ("file", &fields! { file_id: Text });
const URL_SOURCE: Variant = ("url", &fields! { url: Text });
const IMAGE_SOURCE: Kind = Variants("type", &[("base64", &base64(IMAGE_TYPES)), FILE_SOURCE, URL_SOURCE]);
const DOCUMENT_SOURCE: Kind = Variants(
    "type",
    &[
        ("base64", &base64(&["application/pdf"])),
        ("content", &fields! { content: Any, .. }),
        FILE_SOURCE,
        ("text", &base64(&["text/plain"])),
        URL_SOURCE,
    ],
);

const DOCUMENT: Variant = (
    "document",
    &fields! { source: DOCUMENT_SOURCE, title?: Any, context?: Any, citations?: Any, cache_control?: CACHE },
);
const IMAGE: Variant = ("image", &fields! { source: IMAGE_SOURCE, cache_control?: CACHE });
const SEARCH_RESULT: Variant = ("search_result", &fields! { cache_control?: CACHE, .. });
const TEXT: Variant =
    ("text", &fields! { text: Text, citations?: List(&Any, 0, MANY), cache_control?: CACHE });
const TOOL_USE: &[Field] = &fields! {
    id: Name(MANY, "^[a-zA-Z0-9_-]+$"), name: Text, input: object! { .. }, caller?: Any, cache_control?: CACHE,
};
const RESULT_CONTENT: Kind =
    TextOr(&Text, &List(&Variants("type", &[DOCUMENT, IMAGE, SEARCH_RESULT, TEXT]), 0, MANY));
const TOOL_RESULT: Variant = (
    "tool_result",
    &fields! { tool_use_id: Text, content?: RESULT_CONTENT, is_error?: Flag, cache_control?: CACHE },
);
/// Every block, in the order the API lists them.
const BLOCK: Kind = Variants(
    "type",
    &[
        DOCUMENT,
        IMAGE,
        ("redacted_thinking", &fields! { data: Text }),
        SEARCH_RESULT,
        ("server_tool_use", TOOL_USE),
        TEXT,
        ("thinking", &fields! { thinking: Text, signature: Text }),
        TOOL_RESULT,
        ("tool_use", TOOL_USE),
        ("web_search_tool_result", &fields! { cache_control?: CACHE, .. }),
    ],
);
const MESSAGE: Kind = object! { role: Text, content: TextOr(&Text, &List(&BLOCK, 0, MANY)) };

const DISPLAY: Kind = Word(&["summarized", "omitted"]);
const THINKING: Kind = Variants(
    "type",
    &[
        ("adaptive", &fields! { display?: DISPLAY }),
        ("disabled", &[]),
        ("enabled", &fields! { budget_tokens: Integer(1024, i64::MAX), display?: DISPLAY }),
    ],
);
const TOOL_CHOICE: Kind = Variants(
    "type",
    &[
        ("any", &fields! { disable_parallel_tool_use?: Flag }),
        ("auto", &fields! { disable_parallel_tool_use?: Flag }),
        ("none", &[]),
        ("tool", &fields! { name: Text, disable_parallel_tool_use?: Flag }),
    ],
);
const SYSTEM_BLOCK: Kind =
    Variants("type", &[("text", &fields! { text: Text, citations?: Any, cache_control?: CACHE })]);
const OUTPUT_CONFIG: Kind = object! {
    effort?: Word(&["low", "medium", "high", "xhigh", "max"]),
    format?: Variants("type", &[("json_schema", &fields! { schema: object! { .. } })]),
};

/// The first 8 are all that count_tokens takes; the newer version does not take the last 3. The shapes of tools and
/// `context_management` depend on the request's betas: see `tools` and `request`.
const FIELDS: &[Field; 21] = &fields! {
    model: Text, messages: List(&MESSAGE, 1, MAX_MESSAGES),
    system?: TextOr(&Text, &List(&SYSTEM_BLOCK, 0, MANY)), tools?: List(&object! { .. }, 0, MANY),
    tool_choice?: TOOL_CHOICE, thinking?: THINKING, cache_control?: CACHE, output_config?: OUTPUT_CONFIG,
    max_tokens: COUNT, stop_sequences?: List(&Text, 0, MANY), stream?: Flag, metadata?: object! { user_id?: Text },
    service_tier?: Word(&["auto", "standard_only"]), speed?: Word(&["standard", "fast"]),
    container?: Any, inference_geo?: Any, diagnostics?: Any,
    context_management?: object! { edits?: List(&object! { type: Text, .. }, 0, MANY) },
    temperature?: Number(0.0, 1.0), top_p?: Number(0.0, 1.0), top_k?: COUNT,
};

/// A request's body.
pub(super) const BODY: Kind = Object(FIELDS);
/// The same in version 2026-10-21.
pub(super) const NEWER_BODY: Kind = Object(FIELDS.split_at(18).0);
/// The body of count_tokens.
pub(super) const COUNT_BODY: Kind = Object(FIELDS.split_at(8).0);

/// A tool the client describes itself.
pub(super) const CUSTOM_TOOL: Variant = (
    "custom",
    &fields! {
        name: Name(128, "^[a-zA-Z0-9_-]{1,128}$"), description?: Text,
        input_schema: object! { type: Word(&["object"]), .. }, cache_control?: CACHE, strict?: Any,
        eager_input_streaming?: Any, defer_loading?: Any, input_examples?: Any, allowed_callers?: Any,
    },
);

/// A versioned tool: its shape, the only name it may have, and the `anthropic-beta` it needs.
pub(super) type VersionedTool = (Variant, &'static str, Option<&'static str>);

const PLAIN: &[Field] = &fields! { name: Text, cache_control?: CACHE };
const EDITOR: &[Field] = &fields! { name: Text, cache_control?: CACHE, max_characters?: Any };
const SCREEN: &[Field] = &fields! {
    name: Text, cache_control?: CACHE, display_width_px: COUNT, display_height_px: COUNT, display_number?: Any,
};
const WEB_SEARCH: &[Field] = &fields! {
    name: Text, cache_control?: CACHE, max_uses?: Any, allowed_domains?: Any, blocked_domains?: Any,
    user_location?: Any,
};
const BETA_2024: Option<&str> = Some("computer-use-2024-10-22");

/// Every versioned tool of the API, in the order it lists them.
#[rustfmt::skip]
pub(super) const VERSIONED_TOOLS: &[VersionedTool] = &[
    (("bash_20241022", PLAIN), "bash", BETA_2024),
    (("bash_20250124", PLAIN), "bash", None),
    (("computer_20241022", SCREEN), "computer", BETA_2024),
    (("computer_20250124", SCREEN), "computer", Some("computer-use-2025-01-24")),
    (("computer_20251124", SCREEN), "computer", Some("computer-use-2025-11-24")),
    (("text_editor_20241022", PLAIN), "str_replace_editor", BETA_2024),
    (("text_editor_20250124", PLAIN), "str_replace_editor", None),
    (("text_editor_20250429", PLAIN), "str_replace_based_edit_tool", None),
    (("text_editor_20250728", EDITOR), "str_replace_based_edit_tool", None),
    (("web_search_20250305", WEB_SEARCH), "web_search", None),
];
