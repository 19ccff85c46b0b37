//! The shape of a request, as tables for [`crate::common::schema`].

use crate::common::schema::Kind::{
    Any, Flag, Integer, List, Map, Name, Number, Object, Text, TextOr, Variants, Word,
};
use crate::common::schema::{Field, Kind, Variant, fields, object};

const MANY: usize = usize::MAX;

const TEXT: Variant = ("text", &fields! { text: Text });
const REFUSAL: Variant = ("refusal", &fields! { refusal: Text });
const IMAGE: Variant =
    ("image_url", &fields! { image_url: object! { url: Text, detail?: Word(&["low", "high", "auto"]) } });
const AUDIO: Variant =
    ("input_audio", &fields! { input_audio: object! { data: Text, format: Word(&["wav", "mp3"]) } });
const FILE: Variant = ("file", &fields! { file: object! { file_data?: Any, file_id?: Any, filename?: Any } });

const TEXT_CONTENT: Kind = TextOr(&Text, &List(&Variants("type", &[TEXT]), 1, MANY));
const USER_CONTENT: Kind = TextOr(&Text, &List(&Variants("type", &[TEXT, IMAGE, AUDIO, FILE]), 1, MANY));
const ASSISTANT_CONTENT: Kind = TextOr(&Text, &List(&Variants("type", &[TEXT, REFUSAL]), 1, MANY));

const CALL: Kind =
    object! { id: Text, type: Word(&["function"]), function: object! { name: Text, arguments: Text } };

const INSTRUCTIONS: &[Field] = &fields! { content: TEXT_CONTENT, name?: Any };
const USER: Variant = ("user", &fields! { content: USER_CONTENT, name?: Any });
const TOOL_RESULT: Variant = ("tool", &fields! { tool_call_id: Text, content: TEXT_CONTENT, name?: Any });
/// Clients send an answer back with all its fields. The last is in a clone's answer alone, so only a clone takes it.
const CLONE_ASSISTANT: &[Field; 8] = &fields! {
    content?: ASSISTANT_CONTENT, name?: Any, tool_calls?: List(&CALL, 1, MANY), refusal?: Any, audio?: Any,
    function_call?: Any, annotations?: Any, reasoning_content?: Any,
};
const ASSISTANT: &[Field] = CLONE_ASSISTANT.split_at(7).0;
#[rustfmt::skip]
const MESSAGE: Kind = Variants("role", &[
    ("system", INSTRUCTIONS), ("assistant", ASSISTANT), USER, ("function", INSTRUCTIONS), TOOL_RESULT,
    ("developer", INSTRUCTIONS),
]);
const CLONE_MESSAGE: Kind =
    Variants("role", &[("system", INSTRUCTIONS), ("assistant", CLONE_ASSISTANT), USER, TOOL_RESULT]);

const FUNCTION: Kind = object! {
    name: Name(64, "^[a-zA-Z0-9_-]+$"), description?: Text, parameters?: object! { .. }, strict?: Flag,
};
const TOOL: Kind = Variants("type", &[("function", &fields! { function: FUNCTION })]);
const TOOL_CHOICE: Kind = TextOr(
    &Word(&["none", "auto", "required"]),
    &Variants("type", &[("function", &fields! { function: object! { name: Text } })]),
);
const JSON_SCHEMA: Kind = object! { name: Text, description?: Any, schema: object! { .. }, strict?: Any };
const RESPONSE_FORMAT: Kind = Variants(
    "type",
    &[("json_object", &[]), ("json_schema", &fields! { json_schema: JSON_SCHEMA }), ("text", &[])],
);
const STREAM_OPTIONS: Kind = object! { include_usage?: Flag, include_obfuscation?: Flag };

const fn body(message: &'static Kind) -> [Field; 36] {
    fields! {
        model: Text, messages: List(message, 1, MANY),
        max_completion_tokens?: Integer(1, i64::MAX), max_tokens?: Integer(1, i64::MAX),
        temperature?: Number(0.0, 2.0), top_p?: Number(0.0, 1.0),
        frequency_penalty?: Number(-2.0, 2.0), presence_penalty?: Number(-2.0, 2.0),
        seed?: Integer(i64::MIN, i64::MAX), logit_bias?: Map(&Number(-100.0, 100.0)),
        logprobs?: Flag, top_logprobs?: Integer(0, 20), n?: Integer(1, 128),
        stop?: TextOr(&Text, &List(&Text, 0, 4)), response_format?: RESPONSE_FORMAT,
        modalities?: Any, audio?: Any, prediction?: Any, verbosity?: Word(&["low", "medium", "high"]),
        tools?: List(&TOOL, 1, 128), tool_choice?: TOOL_CHOICE, parallel_tool_calls?: Flag,
        functions?: Any, function_call?: Any,
        reasoning_effort?: Word(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        stream?: Flag, stream_options?: STREAM_OPTIONS,
        service_tier?: Word(&["auto", "default", "flex", "priority"]), store?: Flag, metadata?: Map(&Text),
        user?: Text, safety_identifier?: Text, prompt_cache_key?: Text, prompt_cache_retention?: Any,
        web_search_options?: Any, moderation?: Any,
    }
}

/// A request's body.
pub(super) const BODY: Kind = Object(&body(&MESSAGE));
/// The same for a clone.
pub(super) const CLONE_BODY: Kind = Object(&body(&CLONE_MESSAGE));

/// Fields that a clone does not know.
#[rustfmt::skip]
pub(super) const NEWER: &[&str] = &[
    "max_completion_tokens", "modalities", "audio", "prediction", "verbosity", "reasoning_effort", "service_tier",
    "store", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "web_search_options",
    "moderation",
];
