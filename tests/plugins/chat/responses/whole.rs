//! Whole answers of either provider as response objects.

use gatehouse_sdk::{Protocol, Usage};
use serde_json::{Value, json};

use super::{answered, whole};
use crate::chat::{MODEL, answer};

use Protocol::{Chat as ChatWire, Messages};

fn completion(message: Value, finish: &str) -> Value {
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}},
    })
}

#[test]
fn a_response_repeats_its_request_and_has_all_members() {
    let fields = json!({"metadata": {"a": "b"}, "temperature": 0.5, "instructions": "x", "previous_response_id": "resp_0"});
    let found = whole(ChatWire, fields, &completion(json!({"role": "assistant", "content": "hi"}), "stop"));
    let id = found["id"].as_str().unwrap().strip_prefix("resp_").expect("an id of a response");
    assert_eq!(
        found,
        json!({
            "id": format!("resp_{id}"), "object": "response", "created_at": 1_790_000_000, "status": "completed",
            "background": false, "completed_at": null, "error": null, "incomplete_details": null, "model": MODEL,
            "output": [{
                "id": format!("msg_{id}00"), "type": "message", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}],
            }],
            "usage": {
                "input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
                "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 14,
            },
            "instructions": "x", "max_output_tokens": null, "max_tool_calls": null, "metadata": {"a": "b"},
            "parallel_tool_calls": true, "previous_response_id": "resp_0", "prompt_cache_key": null,
            "reasoning": {"effort": null, "summary": null}, "safety_identifier": null, "service_tier": "default",
            "store": true, "temperature": 0.5, "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": "auto", "tools": [], "top_logprobs": 0, "top_p": 1, "truncation": "disabled",
            "user": null, "frequency_penalty": 0, "presence_penalty": 0,
        })
    );
    assert!(id.len() <= 60 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
}

#[test]
fn each_end_has_its_status() {
    for (message, finish, status, reason) in [
        (json!({"content": "a"}), "stop", "completed", Value::Null),
        (json!({"content": "a"}), "length", "incomplete", json!({"reason": "max_output_tokens"})),
        (json!({"content": "a"}), "content_filter", "incomplete", json!({"reason": "content_filter"})),
        (json!({"refusal": "no"}), "stop", "completed", Value::Null),
    ] {
        let found = whole(ChatWire, json!({}), &completion(message, finish));
        assert_eq!((&found["status"], &found["incomplete_details"]), (&json!(status), &reason));
        assert_eq!(found["output"][0]["status"], status);
    }
    let refusal = whole(ChatWire, json!({}), &completion(json!({"refusal": "no"}), "stop"));
    assert_eq!(refusal["output"][0]["content"], json!([{"type": "refusal", "refusal": "no"}]));
}

#[test]
fn items_keep_the_order_reasoning_text_calls() {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"content": "b", "reasoning_content": "a", "tool_calls": [
        call("c1", "f", ""), call("c2", "patch", r#"{"input":"x\ny"}"#), call("c3", "ns__g", "{}"),
    ]});
    let tools = json!([
        {"type": "function", "name": "f"}, {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "g"}]},
    ]);
    let found = whole(ChatWire, json!({"tools": tools}), &completion(message, "tool_calls"));
    let output = found["output"].as_array().unwrap();
    let kinds: Vec<&Value> = output.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call", "custom_tool_call", "function_call"]);
    assert_eq!((&output[2]["call_id"], &output[2]["arguments"]), (&json!("c1"), &json!("{}")));
    assert_eq!((&output[3]["input"], &output[3]["name"]), (&json!("x\ny"), &json!("patch")));
    assert_eq!((&output[4]["name"], &output[4]["namespace"]), (&json!("g"), &json!("ns")));
    assert_eq!(found["tools"], tools);
}

/// The bill is the chat completion's.
#[test]
fn tokens_and_text_count_as_in_a_chat_completion() {
    let message = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "hi"}],
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 6},
    });
    for (protocol, body) in [(Messages, message), (ChatWire, completion(json!({"content": "hi"}), "stop"))] {
        let (chat, response) = (
            answer(protocol, 200, &body.to_string()).unwrap(),
            answered(protocol, json!({}), &body).unwrap(),
        );
        assert_eq!((chat.usage, chat.output_bytes), (response.usage, response.output_bytes));
        let found: Value = serde_json::from_str(&response.body).unwrap();
        let all = crate::together(chat.usage, &chat.counters);
        let Some(Usage { input, output, cached, cache_write, .. }) = all else { panic!("{chat:?}") };
        assert_eq!(found["usage"]["input_tokens"], input + cached + cache_write);
        assert_eq!(found["usage"]["output_tokens"], output);
        assert_eq!(
            found["usage"]["input_tokens_details"],
            json!({"cached_tokens": cached, "cache_write_tokens": cache_write})
        );
    }
    let uncounted = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]});
    assert_eq!(whole(ChatWire, json!({}), &uncounted)["usage"], Value::Null);
}
