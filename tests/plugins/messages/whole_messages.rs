//! A provider that answers a request for a stream with one body: the client's events come to the very message a
//! client reads that asked for no stream, and to the same counts.

use gatehouse_sdk::{Obstacle, Protocol, Sse, Usage};
use serde_json::{Value, json};

use crate::messages::{MODEL, Played, answered, frames, play, play_in, state};

/// One event without a name, as the host passes such a body on.
fn relayed(protocol: Protocol, thinking: bool, whole: &Value) -> Played {
    play(&state(protocol, thinking), &frames(std::slice::from_ref(whole)))
}

/// What a client that joins events ends up with. Fails where their order is not the protocol's.
fn joined(played: &Played) -> Value {
    let mut events = played.events().into_iter().filter(|event| event["type"] != "ping");
    let mut next = || events.next().expect("more events");
    let mut message = next();
    assert_eq!(message["type"], "message_start");
    message = message["message"].take();
    assert_eq!((&message["content"], &message["stop_reason"]), (&json!([]), &Value::Null));
    let mut event = next();
    let mut blocks = Vec::new();
    while event["type"] == "content_block_start" {
        let (index, mut block, mut arguments) = (blocks.len(), event["content_block"].take(), String::new());
        assert_eq!(event["index"], index);
        loop {
            event = next();
            assert_eq!(event["index"], index, "{event}");
            if event["type"] == "content_block_stop" {
                break;
            }
            let delta = event["delta"].as_object().expect("a delta").clone();
            for (name, piece) in delta.iter().filter(|(name, _)| *name != "type") {
                match name.as_str() {
                    "partial_json" => arguments += piece.as_str().expect("text"),
                    "citation" => block["citations"].as_array_mut().expect("an array").push(piece.clone()),
                    _ => {
                        let before = block[name].as_str().expect("text").to_owned();
                        block[name] = (before + piece.as_str().expect("text")).into();
                    }
                }
            }
        }
        if !arguments.is_empty() {
            assert_eq!(block["input"], json!({}), "arguments grow out of nothing");
            block["input"] = serde_json::from_str(&arguments).expect("whole arguments");
        }
        blocks.push(block);
        event = next();
    }
    assert_eq!(event["type"], "message_delta");
    for (name, value) in event["delta"].as_object().expect("a delta") {
        message[name] = value.clone();
    }
    for (name, value) in event["usage"].as_object().expect("counts") {
        message["usage"][name] = value.clone();
    }
    message["content"] = blocks.into();
    assert_eq!(next()["type"], "message_stop");
    assert!(played.last);
    message
}

fn message(content: Value, stop: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content,
        "stop_reason": stop, "stop_sequence": null, "stop_details": null, "container": {"id": "c"},
        "usage": {"input_tokens": 12, "output_tokens": 31, "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 4, "service_tier": "standard"},
    })
}

#[test]
fn a_message_of_every_kind_of_block() {
    let cited =
        json!([{"type": "page_location", "cited_text": "x"}, {"type": "char_location", "cited_text": "y"}]);
    let whole = message(
        json!([
            {"type": "thinking", "thinking": "h\u{e9}m", "signature": "c2/n"},
            {"type": "thinking", "thinking": "", "signature": "b25seQ=="},
            {"type": "redacted_thinking", "data": "cmVk"},
            {"type": "text", "text": "one \"two\"", "citations": cited},
            {"type": "text", "text": "", "citations": null},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "a"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u", "text": "t"}]},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1, 2.0], "b": "\u{1f5fc}"}},
            {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
        ]),
        "tool_use",
    );
    let played = relayed(Protocol::Messages, false, &whole);
    let (body, usage, written) = answered(Protocol::Messages, false, &whole);
    assert_eq!(joined(&played), body);
    assert_eq!((played.usage, played.written), (usage, written));
    assert_eq!(usage, Some(Usage { input: 12, output: 31, cached: 4, cache_write: 3, ..Usage::default() }));
    assert_eq!(body["model"], MODEL);
    assert_eq!(played.names()[..3], ["message_start", "content_block_start", "ping"]);
    assert_eq!(played.names().iter().filter(|name| **name == "ping").count(), 1);
}

#[test]
fn streams_a_message_without_text_or_counts() {
    let mut whole = message(json!([]), "refusal");
    let played = relayed(Protocol::Messages, false, &whole);
    assert_eq!(joined(&played), answered(Protocol::Messages, false, &whole).0);
    assert_eq!(played.names(), ["message_start", "message_delta", "message_stop"]);
    for usage in [json!(null), json!({})] {
        whole["usage"] = usage;
        let played = relayed(Protocol::Messages, false, &whole);
        assert_eq!(played.usage, None, "nothing was counted");
        assert!(joined(&played)["usage"].is_object(), "clients read counts without looking");
    }
}

#[test]
fn refuses_an_unreadable_message() {
    for content in [json!("text"), json!([7])] {
        let whole = message(content, "end_turn");
        let stopped = play_in(&state(Protocol::Messages, false), &frames(&[whole]), &[]);
        assert_eq!(stopped.expect_err("unreadable").obstacle, Obstacle::Upstream);
    }
}

fn completion(message: Value, finish: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "gpt-x",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
        "usage": {"prompt_tokens": 19, "completion_tokens": 31, "prompt_tokens_details": {"cached_tokens": 4}},
    })
}

/// The same answer in chunks, each text in two pieces.
fn chunked(whole: &Value) -> Vec<Sse> {
    let chunk = |delta: Value, finish: &Value| json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let choice = &whole["choices"][0];
    let mut chunks = Vec::new();
    for name in ["reasoning_content", "content", "refusal"] {
        let text: Vec<char> = choice["message"][name].as_str().unwrap_or_default().chars().collect();
        for piece in text.chunks(text.len().div_ceil(2).max(1)) {
            chunks.push(chunk(json!({name: piece.iter().collect::<String>()}), &Value::Null));
        }
    }
    for (index, call) in choice["message"]["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut call = call.clone();
        call["index"] = index.into();
        chunks.push(chunk(json!({"tool_calls": [call]}), &Value::Null));
    }
    chunks.push(chunk(json!({}), &choice["finish_reason"]));
    chunks.push(json!({"id": "chatcmpl-1", "choices": [], "usage": whole["usage"]}));
    frames(&chunks)
}

#[test]
fn a_completion_gives_the_same_message_whole_and_streamed() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    for (thinking, said, finish) in [
        (false, json!({"role": "assistant", "content": "one \"two\" \u{1f5fc}"}), "stop"),
        (true, json!({"role": "assistant", "reasoning_content": "hm, h\u{e9}", "content": "so"}), "stop"),
        (false, json!({"role": "assistant", "reasoning_content": "hidden", "content": "so"}), "length"),
        (false, json!({"role": "assistant", "content": null, "refusal": "no, never"}), "stop"),
        (
            false,
            json!({"content": "both", "tool_calls": [call("call_1", "{\"a\":1}"), call("call_2", "{}")]}),
            "tool_calls",
        ),
    ] {
        let whole = completion(said, json!(finish));
        let (body, usage, written) = answered(Protocol::Chat, thinking, &whole);
        let unfolded = relayed(Protocol::Chat, thinking, &whole);
        let streamed = play(&state(Protocol::Chat, thinking), &chunked(&whole));
        let (unfolded_message, mut streamed_message) = (joined(&unfolded), joined(&streamed));
        for field in ["id", "model", "content", "stop_reason", "stop_sequence"] {
            assert_eq!(unfolded_message[field], body[field], "{field}");
        }
        // The counts are in the first event already.
        streamed_message["usage"] = unfolded_message["usage"].clone();
        assert_eq!(unfolded_message, streamed_message);
        for told in [&unfolded, &streamed] {
            assert_eq!((told.usage, told.written), (usage, written), "{whole}");
        }
        assert_eq!(
            usage,
            Some(Usage { input: 15, output: 31, cached: 4, cache_write: 0, ..Usage::default() })
        );
    }
}

#[test]
fn calls_without_ids_stay_apart_and_a_reason_may_be_missing() {
    let call = |arguments: &str| json!({"function": {"name": "f", "arguments": arguments}});
    let whole =
        completion(json!({"content": "", "tool_calls": [call("{\"a\":1}"), call("{\"a\":2}")]}), Value::Null);
    let (body, ..) = answered(Protocol::Chat, false, &whole);
    let message = joined(&relayed(Protocol::Chat, false, &whole));
    assert_eq!((&message["content"], &message["stop_reason"]), (&body["content"], &body["stop_reason"]));
    assert_eq!(message["content"][1]["input"], json!({"a": 2}));
}

/// Some providers send the whole message so far with every delta.
#[test]
fn ignores_a_message_next_to_a_delta() {
    let chunk = |delta: &str, so_far: Value, finish: Value| {
        json!({"id": "c", "object": "chat.completion", "choices":
            [{"index": 0, "delta": {"content": delta}, "message": so_far, "finish_reason": finish}]})
    };
    let played = play(
        &state(Protocol::Chat, false),
        &frames(&[
            chunk("a", json!({"content": "a"}), Value::Null),
            chunk("b", json!(["what", "ever"]), json!("stop")),
            json!({"choices": [{"index": 0, "message": {"content": "ab"}, "finish_reason": "stop"}]}),
        ]),
    );
    assert_eq!(joined(&played)["content"], json!([{"type": "text", "text": "ab"}]));
}
