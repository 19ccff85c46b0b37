//! What newer clients send, and older ones: each is translated, or refused in the words after which they do without it.

use gatehouse_sdk::{Protocol, Refusal};
use serde_json::{Value, json};

use crate::messages::{body, prepare, refused, sent};

/// Without it clients of later versions would fail where a model can do what they want.
#[test]
fn values_of_later_versions_become_known_ones() {
    for (thinking, expected) in [
        (json!({"type": "between_tools"}), json!({"type": "adaptive"})),
        (
            json!({"type": "adaptive", "display": "updates"}),
            json!({"type": "adaptive", "display": "summarized"}),
        ),
        (
            json!({"type": "adaptive", "display": "omitted"}),
            json!({"type": "adaptive", "display": "omitted"}),
        ),
        (
            json!({"type": "enabled", "budget_tokens": 1024, "display": "updates"}),
            json!({"type": "enabled", "budget_tokens": 1024, "display": "summarized"}),
        ),
    ] {
        let got = sent(json!({"thinking": thinking}), Protocol::Messages, json!({}));
        assert_eq!(got["thinking"], expected, "{thinking}");
        prepare(&body(json!({"thinking": thinking})), Protocol::Chat, json!({})).expect("a wish");
    }
    match prepare(&body(json!({"thread": {"type": "create"}})), Protocol::Messages, json!({})) {
        Err(Refusal::Invalid { field, .. }) => {
            assert_eq!(field.as_deref(), Some("thread"), "the host says how to go on");
        }
        other => panic!("{other:?}"),
    }
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    let got = sent(json!({"output_format": format}), Protocol::Messages, json!({}));
    assert_eq!((&got["output_config"]["format"], got.get("output_format")), (&format, None));
    let got = sent(json!({"output_format": format}), Protocol::Chat, json!({}));
    assert_eq!(got["response_format"]["json_schema"]["schema"], format["schema"]);
}

/// Without it a default, which changes nothing, is a 400.
#[test]
fn a_default_is_no_second_setting() {
    let either = json!({"sampling": "either"});
    for (temperature, top_p, kept) in
        [(0.5, 1.0, (true, false)), (1.0, 0.5, (false, true)), (1.0, 1.0, (true, false))]
    {
        let got =
            sent(json!({"temperature": temperature, "top_p": top_p}), Protocol::Messages, either.clone());
        assert_eq!(
            (got.get("temperature").is_some(), got.get("top_p").is_some()),
            kept,
            "{temperature} {top_p}"
        );
    }
    let said = refused(&body(json!({"temperature": 0.5, "top_p": 0.5})), Protocol::Messages, either);
    assert!(said.contains("cannot both be specified"), "{said}");
}

/// Without it blocks that have a text are refused by chat models.
#[test]
fn blocks_of_texts_are_texts_at_a_chat_provider() {
    let document = json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}});
    let found = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "get_weather"}]});
    let messages = json!([
        {"role": "user", "content": [document]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [found]},
    ]);
    let got = sent(json!({"messages": messages}), Protocol::Chat, json!({}));
    assert_eq!(got["messages"][0]["content"], "a\nb");
    assert_eq!(got["messages"][2], json!({"role": "tool", "tool_call_id": "t", "content": "get_weather"}));
    assert_eq!(sent(json!({"messages": messages}), Protocol::Messages, json!({}))["messages"], messages);
}

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
