//! Streams of a chat provider: every trap, and what the client reads instead.

use gatehouse_sdk::{Obstacle, Protocol, Sse, Usage};
use serde_json::{Value, json};

use crate::chat::{Heard, MODEL, data, relayed, streamed, streaming};

fn heard(counted: bool, lines: &[&str]) -> Heard {
    relayed(&streaming(Protocol::Chat, counted), &data(lines), 1)
}

/// A chunk of one choice.
fn chunk(delta: Value, finish: Value) -> String {
    json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "provider-sonnet-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
    .to_string()
}

fn deltas(deltas: &[Value]) -> Vec<Value> {
    let mut lines: Vec<String> = deltas.iter().map(|delta| chunk(delta.clone(), Value::Null)).collect();
    lines.push(chunk(json!({}), json!("stop")));
    lines.push("[DONE]".to_owned());
    let mut deltas = streamed(Protocol::Chat, &data(&lines)).deltas();
    let has_called = deltas.iter().any(|delta| delta["tool_calls"].is_array());
    let reason = if has_called { "tool_calls" } else { "stop" };
    assert_eq!(deltas.pop(), Some(json!({"delta": {}, "finish": reason})));
    deltas
}

const START: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#;
const TEXT: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"h\u00e9 "},"logprobs":{"content":[{"token":"h\u00e9 ","logprob":-0.50,"bytes":null}]},"finish_reason":null}],"usage":null,"obfuscation":"xx"}"#;
const STOP: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#;
const COUNT: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4}},"x":1}"#;
const USAGE: Option<Usage> =
    Some(Usage { input: 5, output: 5, cached: 4, cache_write: 0, cache_write_hour: 0 });

#[test]
fn the_standard_stream_with_tokens_asked_for() {
    let heard = heard(true, &[START, TEXT, STOP, COUNT, "[DONE]"]);
    let public = |line: &str| -> Value {
        serde_json::from_str(&line.replace("\"m\"", &format!("{MODEL:?}"))).unwrap()
    };
    assert_eq!(heard.chunks(), [START, TEXT, STOP, COUNT].map(public));
    assert_eq!((heard.usage, heard.written), (USAGE, 4));
    assert!(
        heard.data[1]
            .contains(r#""choices":[{"index":0,"delta":{"content":"h\u00e9 "},"logprobs":{"content":[{"token":"h\u00e9 ","logprob":-0.50,"bytes":null}]},"finish_reason":null}]"#)
    );
}

#[test]
fn unrequested_token_counts_go_to_the_host_only() {
    let heard = heard(false, &[START, TEXT, STOP, COUNT, "[DONE]"]);
    let chunks = heard.chunks();
    assert_eq!(chunks.len(), 3);
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()), "{chunks:?}");
    assert_eq!(heard.usage, USAGE);
}

#[test]
fn token_counts_of_any_chunk_become_the_last_chunk() {
    let counting = |count: u64, line: &str| {
        let mut chunk: Value = serde_json::from_str(line).unwrap();
        chunk["usage"] = json!({"prompt_tokens": 9, "completion_tokens": count});
        chunk.to_string()
    };
    // In every chunk, and in the last that says something.
    let (text, stop) = (counting(1, TEXT), counting(2, STOP));
    for lines in [vec![START, &text, &stop, "[DONE]"], vec![START, &text, &stop]] {
        let heard = heard(true, &lines);
        let chunks = heard.chunks();
        assert_eq!(chunks.len(), 4);
        assert!(chunks[..3].iter().all(|chunk| chunk["usage"].is_null()));
        let last = json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        });
        assert_eq!(chunks[3], last);
        assert_eq!(heard.usage.map(|usage| usage.output), Some(2));
    }
    let twice = heard(true, &[START, STOP, &counting(1, COUNT), COUNT, "[DONE]"]);
    assert_eq!(twice.chunks().iter().filter(|chunk| chunk["choices"] == json!([])).count(), 1);
    assert_eq!(twice.usage, USAGE);
    let never = heard(true, &[START, TEXT, STOP, "[DONE]"]);
    assert_eq!((never.chunks().len(), never.usage), (3, None));
    let zeros = heard(
        false,
        &[START, TEXT, &STOP.replace("null", r#"{"prompt_tokens":0,"completion_tokens":0}"#), "[DONE]"],
    );
    assert_eq!(zeros.usage, None, "zeros are no count of a text that was written");
}

#[test]
fn sends_the_role_once() {
    let said = json!({"role": "assistant", "content": "a"});
    assert_eq!(deltas(&[said.clone(), said.clone()]), [said.clone(), json!({"content": "a"})]);
    assert_eq!(deltas(&[json!({"content": "a"}), json!({"content": "b"})]), [said, json!({"content": "b"})]);
}

#[test]
fn a_call_is_named_once_and_counted() {
    let call = |index: Value, id: Value, name: Value, arguments: &str| {
        let mut function = json!({"arguments": arguments});
        if !name.is_null() {
            function["name"] = name;
        }
        let mut call = json!({"type": "function", "function": function});
        for (name, value) in [("index", index), ("id", id)] {
            if !value.is_null() {
                call[name] = value;
            }
        }
        json!({"tool_calls": [call]})
    };
    let opens = |index: u64, id: &str, name: &str, arguments: &str| json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]});
    let goes_on = |index: u64, arguments: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]});
    let begins = |mut delta: Value| {
        delta["role"] = json!("assistant");
        delta
    };
    let null = || Value::Null;
    for (given, expected) in [
        // The standard form: only the type is repeated.
        (
            vec![call(json!(0), json!("a"), json!("f"), ""), call(json!(0), null(), null(), "{}")],
            vec![opens(0, "a", "f", ""), goes_on(0, "{}")],
        ),
        // Id and name with every piece.
        (
            vec![call(json!(0), json!("a"), json!("f"), "{"), call(json!(0), json!("a"), json!("f"), "}")],
            vec![opens(0, "a", "f", "{"), goes_on(0, "}")],
        ),
        // A new id with every piece, empty ones too.
        (
            vec![
                call(json!(0), json!("a"), json!("f"), "{"),
                call(json!(0), json!("b"), null(), "}"),
                call(json!(0), json!(""), json!(""), " "),
            ],
            vec![opens(0, "a", "f", "{"), goes_on(0, "}"), goes_on(0, " ")],
        ),
        // Every call is number 0.
        (
            vec![call(json!(0), json!("a"), json!("f"), "{}"), call(json!(0), json!("b"), json!("g"), "[]")],
            vec![opens(0, "a", "f", "{}"), opens(1, "b", "g", "[]")],
        ),
        // No numbers at all.
        (
            vec![
                call(null(), json!("a"), json!("f"), "{"),
                call(null(), null(), null(), "}"),
                call(null(), json!("b"), json!("g"), "{}"),
                call(null(), json!("a"), null(), " "),
            ],
            vec![opens(0, "a", "f", "{"), goes_on(0, "}"), opens(1, "b", "g", "{}"), goes_on(0, " ")],
        ),
        // Numbers that begin elsewhere, and calls that interleave.
        (
            vec![
                call(json!(2), json!("a"), json!("f"), ""),
                call(json!(5), json!("b"), json!("g"), ""),
                call(json!(2), null(), null(), "{}"),
                call(json!(5), null(), null(), "[]"),
            ],
            vec![opens(0, "a", "f", ""), opens(1, "b", "g", ""), goes_on(0, "{}"), goes_on(1, "[]")],
        ),
        // No id.
        (
            vec![call(json!(0), null(), json!("f"), "{}")],
            vec![opens(0, "call_0000000000000abc_0", "f", "{}")],
        ),
    ] {
        let mut expected = expected;
        expected[0] = begins(expected[0].take());
        assert_eq!(deltas(&given), expected, "{given:?}");
    }
}

#[test]
fn sends_a_late_tool_name() {
    let given = [
        json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "a", "type": "function"}]}),
        json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}),
    ];
    let heard = deltas(&given);
    assert_eq!(heard[1], given[1]);
    assert_eq!(heard[2], json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}));
}

#[test]
fn skips_events_that_are_not_part_of_the_answer() {
    let idle = |name: Option<&str>, data: &str| Sse { event: name.map(str::to_owned), data: data.to_owned() };
    let mut events = vec![
        idle(None, ""),
        idle(None, " \n"),
        idle(Some("ping"), "{}"),
        idle(Some("keepalive"), "now"),
        idle(None, "{}"),
        idle(None, r#"{"choices":[],"prompt_filter_results":[]}"#),
        idle(None, r#"{"choices":null}"#),
    ];
    let clean = [START, TEXT, STOP, "[DONE]"];
    events.extend(clean.map(|line| idle(Some("chunk"), line)));
    let state = streaming(Protocol::Chat, false);
    assert_eq!(relayed(&state, &events, 1), relayed(&state, &data(&clean), 1));
}

#[test]
fn a_stream_that_ends_early_fails() {
    for lines in [vec![], vec!["[DONE]"], vec![START, TEXT], vec![COUNT, "[DONE]"]] {
        let heard = heard(true, &lines);
        assert!(!heard.last && !heard.data.iter().any(|data| data == "[DONE]"), "{lines:?}");
        let stopped = heard.stopped.expect("a rejection");
        assert_eq!(stopped.obstacle, Obstacle::Upstream);
        assert_eq!(stopped.message, "the provider ended its answer before it was complete");
    }
    let forgetful = heard(true, &[START, TEXT, STOP, COUNT]);
    assert_eq!((forgetful.chunks().len(), forgetful.usage), (4, USAGE));
}

#[test]
fn every_answer_gets_a_finish_reason() {
    let of = |index: u64, finish: &str| {
        START.replace("\"index\":0", &format!("\"index\":{index}")).replace(r#""finish_reason":null"#, finish)
    };
    let stop = r#""finish_reason":"stop""#;
    let none = r#""finish_reason":null"#;
    let (one, two) = (of(0, none), of(1, none));
    let (end_one, end_two) = (of(0, stop), of(1, stop));
    assert!(heard(false, &[&one, &two, &end_one]).stopped.is_some());
    let said = heard(false, &[&one, &two, &end_one, "[DONE]"]).chunks();
    let reasons: Vec<&Value> = said.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect();
    assert_eq!(reasons[2..], [&json!("stop"), &json!("stop")], "`[DONE]` is an end of all of them");
    let chunks = heard(false, &[&one, &two, &end_one, &end_two, "[DONE]"]).chunks();
    let roles: Vec<bool> =
        chunks.iter().map(|chunk| chunk["choices"][0]["delta"].get("role").is_some()).collect();
    assert_eq!(roles, [true, true, false, false], "the role once an answer");
}

#[test]
fn a_missing_delta_is_empty() {
    let bare = r#"{"id":"c1","choices":[{"index":0,"finish_reason":"stop"}]}"#;
    let null = r#"{"id":"c1","choices":[{"index":0,"delta":null,"finish_reason":"stop"}]}"#;
    for line in [bare, null] {
        let chunks = heard(false, &[START, line, "[DONE]"]).chunks();
        assert_eq!(
            chunks[1],
            json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
                "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        );
    }
}

#[test]
fn an_error_comes_after_the_events_before_it() {
    for (line, obstacle) in [
        (r#"{"error":{"message":"x","type":"server_error"}}"#, Obstacle::Upstream),
        (r#"{"error":{"message":"x","code":429}}"#, Obstacle::RateLimited),
        (r#"{"error":"x"}"#, Obstacle::Upstream),
        ("<html>", Obstacle::Upstream),
        ("[1]", Obstacle::Upstream),
    ] {
        let state = streaming(Protocol::Chat, false);
        for size in [1, 2, 5] {
            let heard = relayed(&state, &data(&[START, TEXT, line, STOP, "[DONE]"]), size);
            assert_eq!((heard.data.len(), heard.last), (2, false));
            assert_eq!(heard.stopped.as_ref().map(|stopped| stopped.obstacle), Some(obstacle), "{line}");
            assert!(!heard.stopped.unwrap().message.contains("html"));
        }
    }
    let state = streaming(Protocol::Chat, false);
    // Tokens counted before it are known, though there was nothing to send.
    let counted = relayed(&state, &data(&[COUNT, "<html>"]), 2);
    assert_eq!((counted.usage, counted.stopped.is_some()), (USAGE, true));
    let page = Sse { event: Some("error".into()), data: "<html>".into() };
    let stopped = relayed(&state, &[page], 1).stopped.expect("a rejection");
    assert!(stopped.message.starts_with("the provider's answer makes no sense"), "{}", stopped.message);
    let named =
        Sse { event: Some("error".into()), data: r#"{"message":"x","type":"rate_limit_error"}"#.into() };
    let stopped = relayed(&state, &[named], 1).stopped.unwrap();
    assert_eq!(
        (stopped.obstacle, stopped.message.as_str()),
        (Obstacle::RateLimited, "the provider takes no more requests for now")
    );
}
