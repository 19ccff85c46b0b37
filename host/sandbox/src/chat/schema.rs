//! The shape of a request, as tables for [`crate::common::schema`].

use crate::common::schema::Kind::{
    Any, Flag, Integer, List, Map, Name, Number, Object, Text, TextOr, Variants, Word,
};
use crate::common::schema::{Field, Kind, OTHERS, Variant, optional, required};

const MANY: usize = usize::MAX;

const TEXT: Variant = ("text", &[required("type", Any), required("text", Text)]);
const REFUSAL: Variant = ("refusal", &[required("type", Any), required("refusal", Text)]);
const IMAGE: Variant = (
    "image_url",
    &[
        required("type", Any),
        required(
            "image_url",
            Object(&[required("url", Text), optional("detail", Word(&["low", "high", "auto"]))]),
        ),
    ],
);
const AUDIO: Variant = (
    "input_audio",
    &[
        required("type", Any),
        required("input_audio", Object(&[required("data", Text), required("format", Word(&["wav", "mp3"]))])),
    ],
);
const FILE: Variant = (
    "file",
    &[
        required("type", Any),
        required(
            "file",
            Object(&[optional("file_data", Any), optional("file_id", Any), optional("filename", Any)]),
        ),
    ],
);

const fn content(parts: &'static Kind) -> Kind {
    TextOr(&Text, parts)
}

const TEXT_PARTS: Kind = List(&Variants("type", &[TEXT]), 1, MANY);
const USER_PARTS: Kind = List(&Variants("type", &[TEXT, IMAGE, AUDIO, FILE]), 1, MANY);
const ASSISTANT_PARTS: Kind = List(&Variants("type", &[TEXT, REFUSAL]), 1, MANY);

const FUNCTION: &[&str] = &["function"];
const CALL: Kind = Object(&[
    required("id", Text),
    required("type", Word(FUNCTION)),
    required("function", Object(&[required("name", Text), required("arguments", Text)])),
]);

const INSTRUCTIONS: &[Field] =
    &[required("role", Any), required("content", content(&TEXT_PARTS)), optional("name", Any)];
const USER: Variant =
    ("user", &[required("role", Any), required("content", content(&USER_PARTS)), optional("name", Any)]);
const TOOL_RESULT: Variant = (
    "tool",
    &[required("role", Any), required("tool_call_id", Text), required("content", content(&TEXT_PARTS))],
);
const ASSISTANT_FIELDS: &[Field; 9] = &[
    required("role", Any),
    optional("content", content(&ASSISTANT_PARTS)),
    optional("name", Any),
    optional("tool_calls", List(&CALL, 1, MANY)),
    optional("refusal", Any),
    optional("audio", Any),
    optional("function_call", Any),
    // Clients send an answer back with all its fields.
    optional("annotations", Any),
    // A clone's answer alone has it, so only a clone takes it.
    optional("reasoning_content", Any),
];
const CLONE_ASSISTANT: &[Field] = ASSISTANT_FIELDS;
const ASSISTANT: &[Field] = ASSISTANT_FIELDS.split_at(8).0;
const MESSAGE: Kind = Variants(
    "role",
    &[
        ("system", INSTRUCTIONS),
        ("assistant", ASSISTANT),
        USER,
        ("function", INSTRUCTIONS),
        TOOL_RESULT,
        ("developer", INSTRUCTIONS),
    ],
);
const CLONE_MESSAGE: Kind =
    Variants("role", &[("system", INSTRUCTIONS), ("assistant", CLONE_ASSISTANT), USER, TOOL_RESULT]);

const TOOL: Kind = Variants(
    "type",
    &[(
        "function",
        &[
            required("type", Any),
            required(
                "function",
                Object(&[
                    required("name", Name(64, "^[a-zA-Z0-9_-]+$")),
                    optional("description", Text),
                    optional("parameters", Object(&[OTHERS])),
                    optional("strict", Flag),
                ]),
            ),
        ],
    )],
);
const TOOL_CHOICE: Kind = TextOr(
    &Word(&["none", "auto", "required"]),
    &Variants(
        "type",
        &[("function", &[required("type", Any), required("function", Object(&[required("name", Text)]))])],
    ),
);
const RESPONSE_FORMAT: Kind = Variants(
    "type",
    &[
        ("json_object", &[required("type", Any)]),
        (
            "json_schema",
            &[
                required("type", Any),
                required(
                    "json_schema",
                    Object(&[
                        required("name", Text),
                        optional("description", Any),
                        required("schema", Object(&[OTHERS])),
                        optional("strict", Any),
                    ]),
                ),
            ],
        ),
        ("text", &[required("type", Any)]),
    ],
);

const STREAM_OPTIONS: Kind =
    Object(&[optional("include_usage", Flag), optional("include_obfuscation", Flag)]);

const fn body(message: &'static Kind) -> [Field; 36] {
    [
        required("model", Text),
        required("messages", List(message, 1, MANY)),
        optional("max_completion_tokens", Integer(1, i64::MAX)),
        optional("max_tokens", Integer(1, i64::MAX)),
        optional("temperature", Number(0.0, 2.0)),
        optional("top_p", Number(0.0, 1.0)),
        optional("frequency_penalty", Number(-2.0, 2.0)),
        optional("presence_penalty", Number(-2.0, 2.0)),
        optional("seed", Integer(i64::MIN, i64::MAX)),
        optional("logit_bias", Map(&Number(-100.0, 100.0))),
        optional("logprobs", Flag),
        optional("top_logprobs", Integer(0, 20)),
        optional("n", Integer(1, 128)),
        optional("stop", TextOr(&Text, &List(&Text, 0, 4))),
        optional("response_format", RESPONSE_FORMAT),
        optional("modalities", Any),
        optional("audio", Any),
        optional("prediction", Any),
        optional("verbosity", Word(&["low", "medium", "high"])),
        optional("tools", List(&TOOL, 1, 128)),
        optional("tool_choice", TOOL_CHOICE),
        optional("parallel_tool_calls", Flag),
        optional("functions", Any),
        optional("function_call", Any),
        optional("reasoning_effort", Word(&["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
        optional("stream", Flag),
        optional("stream_options", STREAM_OPTIONS),
        optional("service_tier", Word(&["auto", "default", "flex", "priority"])),
        optional("store", Flag),
        optional("metadata", Map(&Text)),
        optional("user", Text),
        optional("safety_identifier", Text),
        optional("prompt_cache_key", Text),
        optional("prompt_cache_retention", Any),
        optional("web_search_options", Any),
        optional("moderation", Any),
    ]
}

/// A request's body.
pub(super) const BODY: Kind = Object(&body(&MESSAGE));
/// The same for a clone.
pub(super) const CLONE_BODY: Kind = Object(&body(&CLONE_MESSAGE));

/// Fields that a clone does not know.
pub(super) const NEWER: &[&str] = &[
    "max_completion_tokens",
    "modalities",
    "audio",
    "prediction",
    "verbosity",
    "reasoning_effort",
    "service_tier",
    "store",
    "metadata",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "web_search_options",
    "moderation",
];
