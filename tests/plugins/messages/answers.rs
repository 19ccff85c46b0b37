//! Whole answers: messages passed on, chat completions translated, tokens counted once.

use gatehouse_sdk::{Obstacle, Protocol, Reply, Usage};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{MODEL, answered, both, rejected, state};

fn completion(message: Value, reason: Value) -> Value {
    json!({
        "id": "chatcmpl-Ab_1",
        "object": "chat.completion",
        "model": "upstream-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25,
            "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2}},
    })
}

#[test]
fn a_message_keeps_its_bytes_but_for_the_model_and_null_citations() {
    let body = concat!(
        r#"{ "model":"claude-x", "id":"msg_01A","type":"message","role":"assistant","content":[{"type":"thinking","#,
        r#""thinking":"hm","signature":"c2\/n"},{"type":"text","text":"h\u00e9","citations":null},{"type":"tool_use","#,
        r#""id":"t","name":"f","input":{"b":1.0, "a":2}}],"stop_reason":"refusal","stop_details":{"model":1.50},"#,
        r#""usage":{"input_tokens":9,"output_tokens":4,"cache_creation_input_tokens":3,"cache_read_input_tokens":2}}"#
    );
    let reply = Reply::raw(200, body);
    let answered = both().answer::<Messages>(&state(Protocol::Messages, false), &reply).expect("good");
    // Clients' schemas know no such `null`.
    let expected = body.replace("claude-x", MODEL).replace(r#","citations":null"#, "");
    assert_eq!(answered.body, expected);
    assert_eq!(
        answered.usage,
        Some(Usage { input: 9, output: 4, cached: 2, cache_write: 3, ..Usage::default() })
    );
    assert_eq!(answered.output_bytes as usize, "hm".len() + "hé".len() + r#"{"b":1.0, "a":2}"#.len());
}

#[test]
fn a_message_without_counts_reports_no_usage() {
    let got = json!({"type": "message", "model": "x", "content": [{"type": "text", "text": "four"}]});
    let (_, usage, written) = answered(Protocol::Messages, false, &got);
    assert_eq!((usage, written), (None, 4));
}

#[test]
fn a_completion_becomes_a_message() {
    let (message, usage, written) = answered(
        Protocol::Chat,
        false,
        &completion(json!({"role": "assistant", "content": "hé"}), json!("stop")),
    );
    let expected = json!({
        "id": "msg_Ab_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{"type": "text", "text": "hé"}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 8, "output_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        },
    });
    assert_eq!(message, expected);
    assert_eq!(usage, Some(Usage { input: 10, output: 5, cached: 8, cache_write: 2, ..Usage::default() }));
    assert_eq!(written, 3);
}

#[test]
fn every_reason_has_its_counterpart() {
    let text = json!({"content": "x"});
    let call =
        json!({"content": "x", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]});
    let table = [
        (json!("stop"), &text, "end_turn"),
        (json!("length"), &text, "max_tokens"),
        (json!("tool_calls"), &call, "tool_use"),
        (json!("function_call"), &call, "tool_use"),
        (json!("content_filter"), &text, "refusal"),
        (json!("stop"), &call, "tool_use"),
        (json!("length"), &call, "max_tokens"),
        (json!(null), &text, "end_turn"),
        (json!("eos"), &text, "end_turn"),
    ];
    for (reason, message, expected) in table {
        let (got, ..) = answered(Protocol::Chat, false, &completion(message.clone(), reason.clone()));
        assert_eq!(got["stop_reason"], expected, "{reason} {message}");
    }
    let refused = completion(json!({"content": null, "refusal": "I cannot"}), json!("stop"));
    let (got, ..) = answered(Protocol::Chat, false, &refused);
    assert_eq!((&got["stop_reason"], &got["content"][0]["text"]), (&json!("refusal"), &json!("I cannot")));
}

#[test]
fn tools_and_reasoning_become_blocks() {
    let call =
        |id: Value, arguments: Value| json!({"id": id, "function": {"name": "f", "arguments": arguments}});
    let message = json!({
        "content": null, "reasoning_content": "hm",
        "tool_calls": [call(json!("call_1"), json!(r#"{"b":1,"a":[2]}"#)), call(json!(null), json!(""))],
    });
    let tools = [
        json!({"type": "tool_use", "id": "call_1", "name": "f", "input": {"b": 1, "a": [2]}}),
        json!({"type": "tool_use", "id": "toolu_Ab_1_1", "name": "f", "input": {}}),
    ];
    let (plain, _, written) =
        answered(Protocol::Chat, false, &completion(message.clone(), json!("tool_calls")));
    assert_eq!(plain["content"], json!(tools), "thoughts are shown to those who ask");
    assert_eq!(written as usize, "hm".len() + r#"{"b":1,"a":[2]}"#.len() + "{}".len());
    let (shown, ..) = answered(Protocol::Chat, true, &completion(message, json!("tool_calls")));
    assert_eq!(shown["content"][0], json!({"type": "thinking", "thinking": "hm", "signature": ""}));
    assert_eq!(shown["content"][1], tools[0]);
}

#[test]
fn arguments_that_are_no_object() {
    let message =
        |text: &str| json!({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": text}}]});
    for text in ["{\"a\":", "[1]", "7"] {
        let rejection = rejected(Protocol::Chat, 200, &completion(message(text), json!("tool_calls")));
        assert_eq!(rejection.obstacle, Obstacle::Upstream);
        let (cut, ..) = answered(Protocol::Chat, false, &completion(message(text), json!("length")));
        assert_eq!(cut["content"][0]["input"], json!({}), "the limit cut it");
    }
}

#[test]
fn ids_are_made_of_the_providers() {
    let table = [
        (json!("chatcmpl-1"), "msg_1"),
        (json!("msg_7"), "msg_7"),
        (json!("gen \"x\"/2"), "msg_genx2"),
        (json!(null), "msg_0000019b76daa8000000000000000000"),
        (json!("chatcmpl-"), "msg_0000019b76daa8000000000000000000"),
    ];
    for (id, expected) in table {
        let mut got = completion(json!({"content": "x"}), json!("stop"));
        got["id"] = id.clone();
        assert_eq!(answered(Protocol::Chat, false, &got).0["id"], expected, "{id}");
    }
}

#[test]
fn reads_token_counts_of_compatible_servers() {
    let usage = |input, output, cached, cache_write| {
        Some(Usage { input, output, cached, cache_write, ..Usage::default() })
    };
    let table = [
        (json!({"prompt_tokens": 5, "completion_tokens": 2}), usage(5, 2, 0, 0)),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}),
            usage(1, 2, 4, 0),
        ),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 9}}),
            usage(5, 2, 9, 0),
        ),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": null}),
            usage(5, 2, 0, 0),
        ),
        (json!({"total_tokens": 5}), usage(4, 1, 0, 0)),
        // xAI counts reasoning apart from `completion_tokens`.
        (
            json!({
                "prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 3},
            }),
            usage(5, 5, 0, 0),
        ),
        (json!({"prompt_tokens": 5.0, "completion_tokens": 2, "cached_tokens": 1}), usage(4, 2, 1, 0)),
        (json!("many"), None),
        (json!(null), None),
    ];
    for (told, expected) in table {
        let mut got = completion(json!({"content": "x"}), json!("stop"));
        got["usage"] = told.clone();
        assert_eq!(answered(Protocol::Chat, false, &got).1, expected, "{told}");
    }
}
