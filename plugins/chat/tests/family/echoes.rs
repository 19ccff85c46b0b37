//! What clients carry along from other answers: a chat provider that knows no such member is not sent it.

use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use crate::sent;

fn passed(rules: Value, fields: Value) -> Value {
    sent(Protocol::Chat, rules, fields)
}

/// A tool loop as LiteLLM and LangChain send it back.
fn tool_loop() -> Value {
    json!([
        {"role": "system", "content": [{"type": "text", "text": "brief", "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": "weather?", "provider_specific_fields": null},
        {"role": "assistant", "content": null, "provider_specific_fields": null, "reasoning_content": "hm",
            "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
            "tool_calls": [{"index": 0, "id": "c", "type": "function", "provider_specific_fields": null,
                "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": [
            {"type": "text", "text": "rain", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "rain", "tool_calls": []},
        {"role": "user", "content": "thanks"},
    ])
}

#[test]
fn echoes_are_left_out_of_messages() {
    let got = passed(json!({}), json!({"messages": tool_loop()}));
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let expected = json!([
        {"role": "system", "content": [{"type": "text", "text": "brief"}]},
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "rain"}]},
        {"role": "assistant", "content": "rain"},
        {"role": "user", "content": "thanks"},
    ]);
    assert_eq!(got["messages"], expected);
    let wanted = passed(json!({"reasoning_history": true}), json!({"messages": tool_loop()}));
    assert_eq!(wanted["messages"][2]["reasoning_content"], "hm");
}

#[test]
fn the_same_loop_is_good_for_a_messages_provider() {
    let got = sent(Protocol::Messages, json!({}), json!({"messages": tool_loop()}));
    assert_eq!(got["messages"][1]["content"][0]["type"], "thinking");
    assert_eq!(got["messages"][1]["content"][1]["type"], "tool_use");
}

#[test]
fn fields_of_tools_need_tools() {
    let none = json!({"tools": [], "tool_choice": "auto", "parallel_tool_calls": true});
    for protocol in [Protocol::Chat, Protocol::Messages] {
        let got = sent(protocol, json!({}), none.clone());
        for name in ["tools", "tool_choice", "parallel_tool_calls"] {
            assert_eq!(got.get(name), None, "{protocol:?}: {name}");
        }
    }
    let tool = json!({"type": "function", "cache_control": {"type": "ephemeral"},
        "function": {"name": "f", "parameters": {"type": "object"}, "cache_control": {"type": "ephemeral"}}});
    let got = passed(json!({}), json!({"tools": [tool]}));
    let expected = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    assert_eq!(got["tools"], expected);
}
