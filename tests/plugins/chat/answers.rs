//! Whole answers, from either protocol.

use gatehouse_sdk::{Obstacle, Protocol, Usage};
use serde_json::{Value, json};

use crate::chat::{MODEL, answer};

fn read(protocol: Protocol, body: &Value) -> (Value, Option<Usage>, u32) {
    let answered = answer(protocol, 200, &body.to_string()).expect("an answer");
    let usage = crate::together(answered.usage, &answered.counters);
    (serde_json::from_str(&answered.body).expect("JSON"), usage, answered.output_bytes)
}

fn usage(input: u64, output: u64, cached: u64, cache_write: u64) -> Option<Usage> {
    Some(Usage { input, output, cached, cache_write, ..Usage::default() })
}

fn chat(usage: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000, "model": "provider-sonnet-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", "refusal": null}, "finish_reason": "stop"}],
        "usage": usage,
    })
}

#[test]
fn a_chat_answer_keeps_its_bytes_under_the_public_name() {
    let given = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"provider-sonnet-1","x_new":[1.50],"choices":[{"index":0,"message":{"role":"assistant","content":"h\u00e9","extra":1.0},"finish_reason":"stop","logprobs":{"content":[{"token":"h\u00e9","logprob":-0.50,"top_logprobs":[]}],"refusal":null}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10},"service_tier":"default"}"#;
    let answered = answer(Protocol::Chat, 200, given).unwrap();
    assert_eq!(answered.body, given.replace("provider-sonnet-1", MODEL));
    assert_eq!((answered.usage, answered.output_bytes), (usage(9, 1, 0, 0), 3));
}

#[test]
fn tokens_in_every_dialect() {
    for (given, expected) in [
        (json!({"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}), usage(9, 1, 0, 0)),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}),
            usage(10, 5, 60, 30),
        ),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 40}),
            usage(60, 5, 40, 0),
        ),
        (json!({"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 40}), usage(60, 5, 40, 0)),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}),
            usage(5, 1, 9, 0),
        ),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 20, "total_tokens": 29, "completion_tokens_details": {"reasoning_tokens": 15}}),
            usage(9, 20, 0, 0),
        ),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 29, "completion_tokens_details": {"reasoning_tokens": 15}}),
            usage(9, 20, 0, 0),
        ),
        (json!({"prompt_tokens": 9.0, "completion_tokens": 1.0}), usage(9, 1, 0, 0)),
        (json!({"prompt_tokens": 0, "completion_tokens": 0}), None),
        (json!({"total_tokens": 4}), usage(3, 1, 0, 0)),
        (json!({}), None),
        (json!(null), None),
        (json!("many"), None),
    ] {
        assert_eq!(read(Protocol::Chat, &chat(given.clone())).1, expected, "{given}");
    }
}

#[test]
fn adds_members_a_server_leaves_out() {
    let bare = json!({"choices": [{"message": {"content": "hi"}}]});
    let (body, usage, written) = read(Protocol::Chat, &bare);
    assert_eq!((usage, written), (None, 2));
    assert_eq!(
        body,
        json!({
            "id": "chatcmpl-0000000000000abc", "object": "chat.completion", "created": 1_790_000_000, "model": MODEL,
            "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
        })
    );
    let wrapped = json!({"code": 200, "data": chat(json!({"prompt_tokens": 1, "completion_tokens": 1}))});
    assert_eq!(read(Protocol::Chat, &wrapped).0["choices"][0]["message"]["content"], "hi");
}

#[test]
fn counts_all_output_bytes() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "fn", "arguments": "{\"a\":1}"}});
    let message = json!({"role": "assistant", "content": "\u{e9}", "reasoning_content": "abc", "refusal": "no", "tool_calls": [call]});
    let mut body = chat(json!(null));
    body["choices"] =
        json!([{"index": 0, "message": message}, {"index": 1, "message": {"content": "12345"}}]);
    assert_eq!(read(Protocol::Chat, &body).2, 2 + 3 + 2 + 2 + 7 + 5);
}

fn message(content: Value, stop: &str) -> Value {
    json!({
        "id": "msg_01A", "type": "message", "role": "assistant", "model": "provider-sonnet-1", "content": content,
        "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 9, "output_tokens": 4, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30,
                  "output_tokens_details": {"thinking_tokens": 3}},
    })
}

#[test]
fn a_message_becomes_a_completion() {
    let content = json!([{"type": "text", "text": "a\n", "citations": null}, {"type": "text", "text": "b"}]);
    let (body, counted, written) = read(Protocol::Messages, &message(content, "end_turn"));
    assert_eq!((counted, written), (usage(9, 4, 30, 20), 3));
    assert_eq!(
        body,
        json!({
            "id": "chatcmpl-01A", "object": "chat.completion", "created": 1_790_000_000, "model": MODEL,
            "choices": [{
                "index": 0, "message": {"role": "assistant", "content": "a\nb", "refusal": null},
                "logprobs": null, "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": 59, "completion_tokens": 4, "total_tokens": 63,
                "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 20},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        })
    );
}

#[test]
fn stop_reasons() {
    for (stop, finish) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "stop"),
        ("refusal", "content_filter"),
        ("newer_than_this", "stop"),
    ] {
        let (body, ..) = read(Protocol::Messages, &message(json!([]), stop));
        assert_eq!(body["choices"][0]["finish_reason"], finish, "{stop}");
        assert_eq!(body["choices"][0]["message"]["content"], "");
    }
    let called = json!([{"type": "tool_use", "id": "t", "name": "f", "input": {}}]);
    let (body, ..) = read(Protocol::Messages, &message(called, "tool_use"));
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn calls_and_thinking() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": "\""}, "caller": {"type": "direct"}},
        {"type": "server_tool_use", "id": "s", "name": "x", "input": {}},
        {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
    ]);
    let (body, _, written) = read(Protocol::Messages, &message(content, "tool_use"));
    let said = &body["choices"][0]["message"];
    assert_eq!((&said["content"], &said["reasoning_content"]), (&Value::Null, &json!("hm")));
    assert_eq!(said["thinking_blocks"], json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]));
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        said["tool_calls"],
        json!([call("toolu_1", "f", "{\"a\":\"\\\"\"}"), call("toolu_2", "g", "{}")])
    );
    assert_eq!(written, 2 + 1 + 10 + 1 + 2);
}

#[test]
fn an_unreadable_answer_is_a_provider_failure() {
    for body in ["", "  ", "<html>502</html>", "[]", "{", "data: {}\n\n"] {
        for protocol in [Protocol::Chat, Protocol::Messages] {
            let rejection = answer(protocol, 200, body).unwrap_err();
            assert_eq!(rejection.obstacle, Obstacle::Upstream, "{body}");
            assert!(!rejection.message.contains("html"), "{}", rejection.message);
        }
    }
    for body in [json!({}), json!({"choices": []}), json!({"choices": [{}]}), json!({"choices": "x"})] {
        assert_eq!(answer(Protocol::Chat, 200, &body.to_string()).unwrap_err().obstacle, Obstacle::Upstream);
    }
    for body in
        [json!({}), json!({"content": "x"}), json!({"content": [{"type": "text"}]}), json!({"content": [7]})]
    {
        assert_eq!(
            answer(Protocol::Messages, 200, &body.to_string()).unwrap_err().obstacle,
            Obstacle::Upstream
        );
    }
}
