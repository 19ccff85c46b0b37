//! A provider that answers a request for a stream with one body: the client's chunks come to the very completion a
//! client reads that asked for no stream, and to the same counts.

use gatehouse_sdk::{Protocol, Usage};
use serde_json::{Value, json};

use crate::chat::{Heard, MODEL, answer, data, relayed, streamed, streaming};

fn heard(protocol: Protocol, counted: bool, whole: &Value) -> Heard {
    relayed(&streaming(protocol, counted), &data(&[whole.to_string()]), 1)
}

/// The result of a client that joins chunks: choices as in a whole answer, each with its message.
fn joined(heard: &Heard) -> Vec<Value> {
    let mut choices: Vec<Value> = Vec::new();
    for chunk in heard.chunks() {
        assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &json!(MODEL)));
        for choice in chunk["choices"].as_array().expect("choices") {
            let at = usize::try_from(choice["index"].as_u64().expect("an index")).expect("small");
            if at == choices.len() {
                assert_eq!(choice["delta"]["role"], "assistant", "the role comes first");
                choices.push(json!({"index": at, "message": {}}));
            }
            join(&mut choices[at]["message"], &choice["delta"]);
            if !choice["finish_reason"].is_null() {
                choices[at]["finish_reason"] = choice["finish_reason"].clone();
            }
        }
    }
    choices
}

fn join(message: &mut Value, delta: &Value) {
    for (name, piece) in delta.as_object().expect("a delta") {
        match piece {
            Value::String(text) => {
                let before = message[name].as_str().unwrap_or_default().to_owned();
                message[name] = (before + text).into();
            }
            Value::Array(items) if name == "tool_calls" => {
                for item in items {
                    let at = usize::try_from(item["index"].as_u64().expect("a number")).expect("small");
                    if !message[name].is_array() {
                        message[name] = json!([]);
                    }
                    let calls = message[name].as_array_mut().expect("an array");
                    if at == calls.len() {
                        let mut call = item.clone();
                        call.as_object_mut().expect("an object").remove("index");
                        calls.push(call);
                    } else {
                        let arguments = item["function"]["arguments"].as_str().expect("text");
                        let before = calls[at]["function"]["arguments"].as_str().expect("text").to_owned();
                        calls[at]["function"]["arguments"] = (before + arguments).into();
                    }
                }
            }
            Value::Array(items) if message[name].is_array() => {
                message[name].as_array_mut().expect("an array").extend(items.iter().cloned());
            }
            other => message[name] = other.clone(),
        }
    }
}

/// The choices of the whole answer, without what no chunk repeats.
fn expected(protocol: Protocol, whole: &Value) -> (Vec<Value>, Option<Usage>, u32) {
    let answered = answer(protocol, 200, &whole.to_string()).expect("a good answer");
    let mut body: Value = serde_json::from_str(&answered.body).expect("JSON");
    let mut choices: Vec<Value> = serde_json::from_value(body["choices"].take()).expect("choices");
    for choice in &mut choices {
        choice.as_object_mut().expect("an object").remove("logprobs");
    }
    (choices, answered.usage, answered.output_bytes)
}

#[test]
fn a_whole_completion_streams_the_same_choices() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let calls = json!([call("call_1", "{\"a\":1}"), call("call_2", "{}")]);
    let whole = json!({
        "id": "c1", "object": "chat.completion", "created": 7, "model": "provider-sonnet-1",
        "system_fingerprint": "fp", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "h\u{e9} \"", "refusal": null},
                "logprobs": {"content": [{"token": "h"}]}, "finish_reason": "stop"},
            {"index": 1, "message": {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": calls},
                "logprobs": null, "finish_reason": "tool_calls"},
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
    });
    let (choices, usage, written) = expected(Protocol::Chat, &whole);
    for counted in [true, false] {
        let heard = heard(Protocol::Chat, counted, &whole);
        assert_eq!(joined(&heard), choices);
        assert_eq!((heard.usage, heard.written), (usage, written));
        let chunks = heard.chunks();
        assert_eq!(chunks.len(), if counted { 3 } else { 2 });
        assert_eq!(chunks[0]["choices"][0]["logprobs"], whole["choices"][0]["logprobs"]);
        for chunk in &chunks {
            assert_eq!(
                (&chunk["id"], &chunk["created"], &chunk["system_fingerprint"]),
                (&json!("c1"), &json!(7), &json!("fp"))
            );
        }
        if counted {
            let mut counts = whole["usage"].clone();
            counts["total_tokens"] = json!(14);
            assert_eq!((&chunks[2]["choices"], &chunks[2]["usage"]), (&json!([]), &counts));
        }
    }
    assert_eq!(usage, Some(Usage { input: 5, output: 5, cached: 4, cache_write: 0, ..Usage::default() }));
}

#[test]
fn adds_members_a_whole_completion_leaves_out() {
    let call = |arguments: &str| json!({"function": {"name": "f", "arguments": arguments}});
    let bare = json!({"choices": [{"message": {"tool_calls": [call("{}"), call("{\"a\":2}")]}}]});
    let wrapped = json!({"code": 200, "data": bare});
    for whole in [bare, wrapped] {
        let heard = heard(Protocol::Chat, true, &whole);
        let choices = joined(&heard);
        assert_eq!((choices.len(), &choices[0]["finish_reason"]), (1, &json!("tool_calls")));
        let calls = choices[0]["message"]["tool_calls"].as_array().expect("calls");
        assert_eq!(calls[1]["function"]["arguments"], "{\"a\":2}");
        assert!(calls[0]["id"].is_string() && calls[0]["id"] != calls[1]["id"], "{calls:?}");
        let first = &heard.chunks()[0];
        assert!(
            first["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")) && first["created"].is_u64()
        );
        assert_eq!(heard.usage, None);
    }
}

/// Some providers send the whole message so far with every delta.
#[test]
fn a_message_next_to_a_delta_is_not_a_whole_answer() {
    let chunk = |delta: &str, so_far: &str, finish: Value| {
        json!({"id": "c", "object": "chat.completion", "choices": [{"index": 0,
            "delta": {"role": "assistant", "content": delta}, "message": {"content": so_far}, "finish_reason": finish}]})
        .to_string()
    };
    let lines = [chunk("a", "a", Value::Null), chunk("b", "ab", json!("stop"))];
    let heard = streamed(Protocol::Chat, &data(&lines));
    assert_eq!(heard.deltas()[0]["content"], "a");
    assert_eq!(heard.written, 2);
}

#[test]
fn a_whole_message_streams_the_same_choice() {
    let blocks = json!([
        {"type": "thinking", "thinking": "h\u{e9}m", "signature": "c2/n"},
        {"type": "redacted_thinking", "data": "cmVk"},
        {"type": "text", "text": "one \"two\""},
        {"type": "text", "text": " three"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1, 2.0]}},
        {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
    ]);
    let refusal = json!([]);
    for (content, stop) in [(blocks, "tool_use"), (refusal, "refusal")] {
        let whole = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "provider-sonnet-1", "content": content,
            "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 12, "output_tokens": 31, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4},
        });
        let (choices, usage, written) = expected(Protocol::Messages, &whole);
        let heard = heard(Protocol::Messages, true, &whole);
        let mut found = joined(&heard);
        // A whole answer writes null, a stream leaves the member out; only a stream numbers thinking blocks.
        found[0]["message"]["refusal"] = Value::Null;
        for block in
            found[0]["message"].get_mut("thinking_blocks").and_then(Value::as_array_mut).into_iter().flatten()
        {
            block.as_object_mut().expect("an object").remove("index");
        }
        assert_eq!(found, choices);
        assert_eq!((heard.usage, heard.written), (usage, written));
        assert_eq!(heard.chunks().last().expect("chunks")["id"], "chatcmpl-1");
        assert!(heard.chunks().last().expect("chunks")["usage"]["prompt_tokens"] == 19);
    }
}
