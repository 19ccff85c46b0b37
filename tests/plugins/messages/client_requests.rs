//! What clients send as a matter of course: each is taken for providers of both protocols, whatever of it a provider is sent.

use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use crate::messages::{body, prepare};

/// Without it a client's every request is a 400.
#[test]
fn what_clients_send_is_taken() {
    let tool = json!({"name": "f", "input_schema": {"type": "object", "properties": {}}});
    let turns = |assistant: Value, user: Value| json!({"tools": [tool], "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": assistant}, {"role": "user", "content": user}]});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
    let result =
        |content: Value| json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": content}]);
    let all = [
        json!({"stream": false, "stop_sequences": [], "metadata": {}, "tools": []}),
        json!({"metadata": {"user_id": null}, "system": ""}),
        json!({"metadata": {"user_id": "user_".repeat(30)}, "system": []}),
        json!({"temperature": 1.0, "top_p": 1}),
        json!({"thinking": {"type": "disabled"}}),
        json!({"tools": [tool], "tool_choice": {"type": "none"}}),
        json!({"tools": [tool], "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
        json!({"tools": [{"type": "custom", "name": "f", "description": "", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}]}),
        // Claude Code.
        json!({"system": [{"type": "text", "text": "x-anthropic-billing-header: v"}, {"type": "text", "text": "You are Claude Code.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral", "ttl": "5m"}}]}],
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}, "output_config": {"effort": "high"}}),
        turns(json!([call]), result(json!("ok"))),
        turns(json!([{"type": "text", "text": ""}, call]), result(json!(""))),
        turns(json!([{"type": "text", "text": " "}, call]), result(json!([]))),
        turns(
            json!([call]),
            json!([{"type": "tool_result", "tool_use_id": "toolu_1"}, {"type": "text", "text": "go on"}]),
        ),
        turns(
            json!([call]),
            json!([{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": [{"type": "text", "text": "no"}], "cache_control": {"type": "ephemeral"}}]),
        ),
        // LangChain and the Vercel AI SDK carry along what an answer had.
        turns(
            json!([{"type": "text", "text": "so", "citations": null}, {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": {"type": "direct"}}]),
            result(json!("ok")),
        ),
        turns(json!("so"), json!([{"type": "text", "text": "and?"}])),
        json!({"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": "and?"}]}),
        json!({"service_tier": "auto", "top_k": 5}),
    ];
    let mut refused = Vec::new();
    for protocol in [Protocol::Messages, Protocol::Chat] {
        for fields in &all {
            if let Err(refusal) = prepare(&body(fields.clone()), protocol, json!({})) {
                refused.push(format!("{protocol:?}: {refusal:?}: {fields}"));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
