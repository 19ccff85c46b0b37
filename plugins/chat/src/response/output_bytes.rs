//! The length of what a chat model wrote.

use gatehouse_text_protocols::json::{JsonString, Object};

/// Bytes the model wrote in a message, or in a delta of one.
pub(crate) fn output_bytes(message: &Object<'_>) -> u64 {
    let texts = ["content", "reasoning_content", "reasoning", "refusal"];
    let mut bytes: u64 = texts.iter().filter_map(|name| message.string(name)).map(JsonString::len).sum();
    let calls = message.items("tool_calls").unwrap_or_default();
    let calls = calls.into_iter().filter_map(|raw| Object::parse(raw.get()));
    let called = calls.filter_map(|call| call.object("function").or_else(|| call.object("custom")));
    for called in called.chain(message.object("function_call")) {
        let texts = ["name", "arguments", "input"];
        bytes += texts.iter().filter_map(|name| called.string(name)).map(JsonString::len).sum::<u64>();
    }
    bytes
}
