//! Answers as providers send them, whole and as the events of a stream: thinking, a text, and a call, with counts.

use serde_json::{Value, json};

/// The text, the tool, and the word in its arguments: no success may be without one that its provider has sent.
pub(super) const WORDS: [&str; 3] = ["Lighthouse", "find_harbour", "Bergen"];

/// Tokens that every recorded answer tells: read, and written.
pub(super) const COUNTS: (u64, u64) = (11, 7);

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    Chat,
    Google,
    Messages,
}

pub(super) const PROVIDERS: [Provider; 3] = [Provider::Chat, Provider::Google, Provider::Messages];

impl Provider {
    /// A whole answer.
    pub(super) fn whole(self) -> Value {
        match self {
            Self::Chat => json!({
                "id": "chatcmpl-9", "object": "chat.completion", "created": 1_790_000_000, "model": "m",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "Lighthouse ahead", "reasoning_content": "Pondering",
                    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "find_harbour", "arguments": "{\"city\":\"Bergen\"}"}}]},
                    "finish_reason": "tool_calls"}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            }),
            Self::Google => json!({
                "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Pondering", "thought": true},
                    {"text": "Lighthouse ahead"}, {"functionCall": {"id": "call_1", "name": "find_harbour", "args": {"city": "Bergen"}}}]},
                    "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 18},
                "modelVersion": "m", "responseId": "r1",
            }),
            Self::Messages => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "thinking", "thinking": "Pondering", "signature": "c2ln"}, {"type": "text", "text": "Lighthouse ahead"},
                    {"type": "tool_use", "id": "toolu_1", "name": "find_harbour", "input": {"city": "Bergen"}}],
                "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 11, "output_tokens": 7},
            }),
        }
    }

    /// The same as a stream.
    pub(super) fn events(self) -> Vec<Value> {
        match self {
            Self::Chat => {
                let chunk = |delta: Value, reason: Value| {
                    json!({"id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 1_790_000_000,
                    "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
                };
                let call = |call: Value| chunk(json!({"tool_calls": [call]}), Value::Null);
                let mut counts = chunk(Value::Null, Value::Null);
                counts["choices"] = json!([]);
                counts["usage"] = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
                vec![
                    chunk(json!({"role": "assistant", "content": ""}), Value::Null),
                    chunk(json!({"reasoning_content": "Pondering"}), Value::Null),
                    chunk(json!({"content": "Lighthouse ahead"}), Value::Null),
                    call(
                        json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "find_harbour", "arguments": ""}}),
                    ),
                    call(json!({"index": 0, "function": {"arguments": "{\"city\":\"Bergen\"}"}})),
                    chunk(json!({}), json!("tool_calls")),
                    counts,
                ]
            }
            Self::Google => {
                let frame = |part: Value| {
                    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}],
                    "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11}, "modelVersion": "m", "responseId": "r1"})
                };
                let mut last = frame(
                    json!({"functionCall": {"id": "call_1", "name": "find_harbour", "args": {"city": "Bergen"}}}),
                );
                last["candidates"][0]["finishReason"] = json!("STOP");
                last["usageMetadata"] = json!({"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 18});
                vec![
                    frame(json!({"text": "Pondering", "thought": true})),
                    frame(json!({"text": "Lighthouse ahead"})),
                    last,
                ]
            }
            Self::Messages => {
                let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
                let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
                let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
                vec![
                    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 11, "output_tokens": 1}}}),
                    start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
                    delta(0, json!({"type": "thinking_delta", "thinking": "Ponder"})),
                    delta(0, json!({"type": "thinking_delta", "thinking": "ing"})),
                    delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
                    stop(0),
                    start(1, json!({"type": "text", "text": ""})),
                    delta(1, json!({"type": "text_delta", "text": "Ahead a "})),
                    delta(1, json!({"type": "text_delta", "text": "Lighthouse"})),
                    stop(1),
                    start(
                        2,
                        json!({"type": "tool_use", "id": "toolu_1", "name": "find_harbour", "input": {}}),
                    ),
                    delta(2, json!({"type": "input_json_delta", "partial_json": "{\"city\":\"Bergen\"}"})),
                    stop(2),
                    json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 7}}),
                    json!({"type": "message_stop"}),
                ]
            }
        }
    }

    /// The data of a stream of these events, and what ends it beside them.
    pub(super) fn data(self, events: &[Value]) -> Vec<String> {
        let end = (self == Self::Chat).then(|| "[DONE]".to_owned());
        events.iter().map(Value::to_string).chain(end).collect()
    }
}
