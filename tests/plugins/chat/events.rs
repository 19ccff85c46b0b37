//! Streams of a messages provider as chunks.

use gatehouse_sdk::{Obstacle, Protocol, Sse, Usage};
use serde_json::{Value, json};

use crate::chat::{Heard, MODEL, named, relayed, streamed, streaming};

fn heard(counted: bool, lines: &[Value]) -> Heard {
    relayed(&streaming(Protocol::Messages, counted), &named(lines), 1)
}

fn message_start() -> Value {
    let usage = json!({"input_tokens": 12, "output_tokens": 1, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4});
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": "provider-sonnet-1", "content": [], "stop_reason": null, "usage": usage}})
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    let usage = json!({"input_tokens": 12, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 31});
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn text(index: u64, said: &str) -> [Value; 3] {
    [
        start(index, json!({"type": "text", "text": ""})),
        delta(index, json!({"type": "text_delta", "text": said})),
        stop(index),
    ]
}

/// Between the start and an end for `reason`.
fn whole(blocks: Vec<Value>, reason: &str) -> Vec<Value> {
    let mut lines = vec![message_start()];
    lines.extend(blocks);
    lines.extend(end(reason));
    lines
}

/// The deltas after the role, before the end.
fn deltas(blocks: Vec<Value>) -> Vec<Value> {
    let has_called = blocks.iter().any(|line| line["content_block"]["type"] == "tool_use");
    let mut deltas = heard(false, &whole(blocks, "tool_use")).deltas();
    assert_eq!(deltas.remove(0), json!({"role": "assistant", "content": ""}));
    let finish = if has_called { "tool_calls" } else { "stop" };
    assert_eq!(deltas.pop(), Some(json!({"delta": {}, "finish": finish})));
    deltas
}

fn opens(index: u64, id: &str, name: &str) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]})
}

fn goes_on(index: u64, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}

#[test]
fn a_text_in_whole_chunks() {
    let heard = heard(true, &whole(text(0, "h\u{e9} \"").to_vec(), "end_turn"));
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": MODEL,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}], "usage": null,
        })
    };
    let count = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": MODEL, "choices": [],
        "usage": {
            "prompt_tokens": 19, "completion_tokens": 31, "total_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    });
    let expected = [
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(json!({"content": "h\u{e9} \""}), Value::Null),
        chunk(json!({}), json!("stop")),
        count,
    ];
    assert_eq!(heard.chunks(), expected);
    assert_eq!(
        heard.usage,
        Some(Usage { input: 12, output: 31, cached: 4, cache_write: 3, ..Usage::default() })
    );
    assert_eq!(heard.written, 5);
}

#[test]
fn unrequested_token_counts_go_to_the_host_only() {
    let heard = heard(false, &whole(text(0, "a").to_vec(), "max_tokens"));
    assert!(heard.chunks().iter().all(|chunk| chunk.get("usage").is_none()));
    assert_eq!(heard.deltas().last(), Some(&json!({"delta": {}, "finish": "length"})));
    assert_eq!(heard.usage.map(|usage| usage.output), Some(31));
}

#[test]
fn the_latest_of_each_count_wins() {
    let mut lines = whole(text(0, "a").to_vec(), "end_turn");
    let last = lines.len() - 2;
    lines[last]["usage"] = json!({"output_tokens": 2});
    let older = heard(false, &lines);
    assert_eq!(
        older.usage,
        Some(Usage { input: 12, output: 2, cached: 4, cache_write: 3, ..Usage::default() })
    );
    // What is known when the line is cut.
    let cut = heard(false, &lines[..3]);
    assert_eq!(
        cut.usage,
        Some(Usage { input: 12, output: 1, cached: 4, cache_write: 3, ..Usage::default() })
    );
}

#[test]
fn calls_are_counted_over_calls_and_named_once() {
    let tool = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let piece = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    let mut blocks = text(0, "I look").to_vec();
    blocks.extend([
        start(1, tool("toolu_1", "f")),
        delta(1, piece("")),
        delta(1, piece("{\"a\":")),
        delta(1, piece("1}")),
        stop(1),
        start(2, tool("toolu_2", "g")),
        delta(2, piece("")),
        stop(2),
        start(3, tool("toolu_3", "h")),
        stop(3),
    ]);
    assert_eq!(
        deltas(blocks),
        [
            json!({"content": "I look"}),
            opens(0, "toolu_1", "f"),
            goes_on(0, "{\"a\":"),
            goes_on(0, "1}"),
            opens(1, "toolu_2", "g"),
            goes_on(1, "{}"),
            opens(2, "toolu_3", "h"),
            goes_on(2, "{}"),
        ]
    );
    let at_once = json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1.0}});
    assert_eq!(deltas(vec![start(0, at_once), stop(0)]), [opens(0, "t", "f"), goes_on(0, "{\"a\":1.0}")]);
}

#[test]
fn an_open_call_is_complete_only_with_the_tool_use_reason() {
    let tool = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
    assert_eq!(deltas(vec![start(0, tool.clone())]), [opens(0, "t", "f"), goes_on(0, "{}")]);
    let cut = heard(false, &whole(vec![start(0, tool)], "max_tokens")).deltas();
    assert_eq!(cut[1..], [opens(0, "t", "f"), json!({"delta": {}, "finish": "length"})]);
}

#[test]
fn streams_thinking_and_sends_it_signed_at_the_end() {
    let blocks = vec![
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "h\n"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln+/="})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
        stop(1),
        // In secret: only a signature.
        start(2, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(2, json!({"type": "signature_delta", "signature": "eA=="})),
        stop(2),
    ];
    assert_eq!(
        deltas(blocks),
        [
            json!({"reasoning_content": "h\n"}),
            json!({"reasoning_content": "m"}),
            json!({"thinking_blocks": [{"index": 0, "type": "thinking", "thinking": "h\nm", "signature": "c2ln+/="}]}),
            json!({"thinking_blocks": [{"index": 1, "type": "redacted_thinking", "data": "ZGF0YQ=="}]}),
            json!({"thinking_blocks": [{"index": 2, "type": "thinking", "thinking": "", "signature": "eA=="}]}),
        ]
    );
}

#[test]
fn skips_unknown_events() {
    let mut blocks = text(0, "a").to_vec();
    blocks.extend([
        json!({"type": "ping"}),
        json!({"type": "brand_new", "x": 1}),
        start(1, json!({"type": "server_tool_use", "id": "s", "name": "x", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{}"})),
        stop(1),
        delta(0, json!({"type": "citations_delta", "citation": {}})),
        delta(0, json!({"type": "brand_new_delta"})),
        stop(9),
    ]);
    assert_eq!(deltas(blocks), [json!({"content": "a"})]);
    let mut events = named(&whole(text(0, "a").to_vec(), "end_turn"));
    let clean = streamed(Protocol::Messages, &events);
    events.insert(2, Sse { event: Some("ping".into()), data: " ".into() });
    events.push(Sse { event: None, data: "[DONE]".into() });
    for event in &mut events {
        // Padding, and names that some servers leave out.
        event.data = event.data.replace("}", " }");
        event.event = None;
    }
    assert_eq!(streamed(Protocol::Messages, &events).data, clean.data);
}

#[test]
fn a_refusal_without_text() {
    let lines = whole(vec![start(0, json!({"type": "text", "text": ""})), stop(0)], "refusal");
    let expected =
        [json!({"role": "assistant", "content": ""}), json!({"delta": {}, "finish": "content_filter"})];
    assert_eq!(heard(false, &lines).deltas(), expected);
}

#[test]
fn a_stream_that_ends_early_fails() {
    let lines = whole(text(0, "a").to_vec(), "end_turn");
    for known in 0..5 {
        let heard = heard(false, &lines[..known]);
        assert!(!heard.last);
        let stopped = heard.stopped.expect("a rejection");
        assert_eq!(stopped.message, "the provider ended its answer before it was complete");
    }
    // Why it stopped is known; only the farewell is missing.
    assert!(heard(false, &lines[..lines.len() - 1]).last);
    let mut silent = lines;
    let last = silent.len() - 2;
    silent[last]["delta"] = json!({});
    let end = json!({"delta": {}, "finish": "stop"});
    assert_eq!(
        heard(false, &silent).deltas().pop(),
        Some(end),
        "the farewell is an end, with or without a reason"
    );
}

#[test]
fn an_error_comes_after_the_events_before_it() {
    for (kind, obstacle) in [
        ("overloaded_error", Obstacle::Upstream),
        ("api_error", Obstacle::Upstream),
        ("rate_limit_error", Obstacle::RateLimited),
        ("invalid_request_error", Obstacle::Invalid),
        ("authentication_error", Obstacle::Account),
    ] {
        let mut lines = vec![message_start()];
        lines.extend(text(0, "a"));
        lines.push(json!({"type": "error", "error": {"type": kind, "message": "x"}}));
        lines.extend(end("end_turn"));
        for size in [1, 3, 20] {
            let heard = relayed(&streaming(Protocol::Messages, false), &named(&lines), size);
            assert_eq!((heard.data.len(), heard.last, heard.written), (2, false, 1));
            assert_eq!(heard.stopped.map(|stopped| stopped.obstacle), Some(obstacle), "{kind}");
        }
    }
    // An error under a name of the server's own.
    let data = json!({"error": {"type": "overloaded_error", "message": "x"}}).to_string();
    let foreign = [Sse { event: Some("chunk".into()), data }];
    let heard = streamed(Protocol::Messages, &foreign);
    assert_eq!(heard.stopped.map(|stopped| stopped.obstacle), Some(Obstacle::Upstream));
    let broken = [Sse { event: Some("message_start".into()), data: "<html>".into() }];
    let heard = streamed(Protocol::Messages, &broken);
    assert!(!heard.stopped.unwrap().message.contains("html"));
}
