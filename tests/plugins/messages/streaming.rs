//! Streams of a provider that speaks Messages: passed on byte for byte, in order, and counted.

use gatehouse_sdk::{Obstacle, Protocol, Sse, Usage};
use serde_json::{Value, json};

use crate::messages::{MODEL, Played, play, play_in, state};

fn named(data: &str) -> Sse {
    let value: Value = serde_json::from_str(data).expect("JSON");
    Sse { event: Some(value["type"].as_str().expect("a type").to_owned()), data: data.to_owned() }
}

fn events(data: &[&str]) -> Vec<Sse> {
    data.iter().map(|data| named(data)).collect()
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1,"cache_creation_input_tokens":3,"cache_read_input_tokens":4}}   }"#;
const STOP: &str = r#"{"type":"message_stop"    }"#;

/// As recorded: thinking, a tool, padding.
fn whole() -> Vec<Sse> {
    events(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}  }"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h\u006d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2\/n"} }"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"novelty","x":1.0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":31}}"#,
        STOP,
    ])
}

fn relayed(events: &[Sse]) -> Played {
    play(&state(Protocol::Messages, false), events)
}

#[test]
fn every_event_keeps_its_bytes_but_for_the_model() {
    let mut expected = whole();
    expected[0].data = expected[0].data.replace("claude-x", MODEL);
    // The protocol has no such event.
    expected.retain(|event| event.event.as_deref() != Some("novelty"));
    let played = relayed(&whole());
    assert_eq!(played.sent, expected);
    assert_eq!(
        played.usage,
        Some(Usage { input: 12, output: 31, cached: 4, cache_write: 3, ..Usage::default() })
    );
    assert_eq!(played.written as usize, "hm".len() + r#"{"a":1}"#.len());
    assert!(played.last);
}

#[test]
fn reports_counts_as_soon_as_they_are_known() {
    let state = state(Protocol::Messages, false);
    let first = play_in(&state, &whole()[..1], &[]).expect("good");
    assert_eq!(
        first.usage,
        Some(Usage { input: 12, output: 1, cached: 4, cache_write: 3, ..Usage::default() })
    );
    assert!(!first.last);
    let mut late = whole();
    late[11] = named(
        r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":7,"cache_read_input_tokens":0,"cache_creation_input_tokens":null,"output_tokens":9}}"#,
    );
    assert_eq!(
        relayed(&late).usage,
        Some(Usage { input: 12, output: 9, cached: 4, cache_write: 3, ..Usage::default() }),
        "a smaller count never replaces a larger one"
    );
}

#[test]
fn names_events_without_a_name() {
    let bare: Vec<Sse> = whole().into_iter().map(|sse| Sse { event: None, ..sse }).collect();
    assert_eq!(relayed(&bare).sent, relayed(&whole()).sent);
}

#[test]
fn a_ping_never_precedes_the_first_block() {
    let mut early = whole();
    let ping = early.remove(2);
    early.insert(1, ping.clone());
    early.insert(1, ping);
    assert_eq!(relayed(&early).sent, relayed(&whole()).sent);
}

#[test]
fn closes_a_block_the_limit_left_open() {
    let mut open = whole();
    open.remove(9);
    let expected = relayed(&whole());
    let got = relayed(&open);
    assert_eq!(got.events(), expected.events());
    assert_eq!(got.names(), expected.names());
}

#[test]
fn nothing_follows_the_end_and_what_is_empty_is_skipped() {
    let mut noisy = whole();
    noisy.push(Sse { event: None, data: "[DONE]".to_owned() });
    noisy.push(named(r#"{"type":"ping"}"#));
    noisy.insert(4, Sse { event: Some("keep".to_owned()), data: String::new() });
    assert_eq!(relayed(&noisy), relayed(&whole()));
}

#[test]
fn a_stream_that_is_cut_has_no_end() {
    for cut in 0..whole().len() {
        let played = play_in(&state(Protocol::Messages, false), &whole()[..cut], &[3]).expect("good so far");
        assert!(!played.last, "cut after {cut}");
    }
}

#[test]
fn an_unreadable_event_fails_the_stream() {
    let table = ["{", "7", "<html>", r#"{"type":"message_start"}"#];
    for data in table {
        let event = Sse { event: Some("message_start".to_owned()), data: data.to_owned() };
        let got = play_in(&state(Protocol::Messages, false), &[event], &[]);
        assert_eq!(got.expect_err("unreadable").obstacle, Obstacle::Upstream, "{data}");
    }
}

#[test]
fn passes_a_refusal_without_text() {
    let played = relayed(&events(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null},"usage":{"output_tokens":1}}"#,
        STOP,
    ]));
    assert_eq!(played.events()[3]["delta"], json!({"stop_reason": "refusal", "stop_sequence": null}));
    assert_eq!((played.written, played.last), (0, true));
}
