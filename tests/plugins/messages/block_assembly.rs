//! Streams of a provider that speaks Chat, as the events of a message: order, blocks, tools, ends.

use gatehouse_sdk::{Obstacle, Protocol, Sse, Usage};
use serde_json::{Value, json};

use crate::messages::{MODEL, Played, done, ended, frames, play, play_in, state};

fn chunk(delta: Value) -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
}

fn end(reason: &str) -> Value {
    json!({"id": "chatcmpl-7", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn counts() -> Value {
    json!({"id": "chatcmpl-7", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4}}})
}

fn text(text: &str) -> Value {
    chunk(json!({"content": text}))
}

/// The first piece of a tool.
fn begun(index: usize, id: &str, name: &str, arguments: &str) -> Value {
    chunk(json!({"tool_calls": [{"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}}]}))
}

/// More of it.
fn more(index: usize, arguments: &str) -> Value {
    chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
}

fn woven(data: &[Value]) -> Played {
    let events = ended(data);
    play(&state(Protocol::Chat, true), &events)
}

/// Blocks as they open, with everything they grew by.
fn blocks(played: &Played) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut open = None;
    for event in played.events() {
        match event["type"].as_str().expect("a type") {
            "content_block_start" => {
                assert_eq!(open, None, "one block is open at a time");
                assert_eq!(event["index"], blocks.len(), "indexes count up");
                let block = &event["content_block"];
                let name = block.get("name").unwrap_or_else(|| &block["type"]);
                blocks.push((name.as_str().expect("text").to_owned(), String::new()));
                open = Some(event["index"].clone());
            }
            "content_block_delta" => {
                assert_eq!(open.as_ref(), Some(&event["index"]), "only an open block grows");
                let delta = &event["delta"];
                let grown = ["text", "thinking", "partial_json"].iter().find_map(|name| delta[name].as_str());
                blocks.last_mut().expect("a block").1.push_str(grown.expect("text"));
            }
            "content_block_stop" => assert_eq!(open.take(), Some(event["index"].clone())),
            _ => {}
        }
    }
    assert_eq!(open, None, "every block is closed");
    blocks
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, grown)| ((*name).to_owned(), (*grown).to_owned())).collect()
}

#[test]
fn the_order_is_the_specifications() {
    let data =
        [chunk(json!({"role": "assistant", "content": ""})), text("hé"), text("!"), end("stop"), counts()];
    let played = woven(&data);
    let expected = [
        json!({"type": "message_start", "message": {"id": "msg_7", "type": "message", "role": "assistant",
            "model": MODEL, "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": 0}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hé"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "!"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4,
                "output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(played.events(), expected);
    let types: Vec<String> =
        expected.iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect();
    assert_eq!(played.names(), types);
    assert_eq!(
        played.usage,
        Some(Usage { input: 5, output: 5, cached: 4, cache_write: 0, ..Usage::default() })
    );
    assert_eq!((played.written, played.last), (4, true));
}

#[test]
fn a_tools_block() {
    let data = [begun(0, "call_1", "f", ""), more(0, "{\"a\""), more(0, ":1}"), end("tool_calls"), counts()];
    let played = woven(&data);
    let start = &played.events()[1];
    assert_eq!(start["content_block"], json!({"type": "tool_use", "id": "call_1", "name": "f", "input": {}}));
    assert_eq!(blocks(&played), pairs(&[("f", "{\"a\":1}")]));
    assert_eq!(played.events()[6]["delta"]["stop_reason"], "tool_use");
    assert_eq!(played.written, 7);
}

/// Pieces, and the blocks they make: each by name or type, with its content.
type Case = (Vec<Value>, &'static [(&'static str, &'static str)]);

#[test]
fn orders_interleaved_pieces_into_blocks() {
    let table: [Case; 10] = [
        (
            vec![
                chunk(json!({"reasoning_content": "h"})),
                chunk(json!({"reasoning": "m"})),
                text("a"),
                begun(0, "c", "f", "{}"),
            ],
            &[("thinking", "hm"), ("text", "a"), ("f", "{}")],
        ),
        // One after the other, as the model's own provider sends them.
        (
            vec![begun(0, "c0", "f", ""), more(0, "{\"a\":1}"), begun(1, "c1", "g", ""), more(1, "{}")],
            &[("f", "{\"a\":1}"), ("g", "{}")],
        ),
        // Side by side.
        (
            vec![
                begun(0, "c0", "f", "{"),
                begun(1, "c1", "g", "{"),
                more(0, "\"}\\\"}"),
                more(1, "}"),
                more(0, "\":1}"),
            ],
            &[("f", "{\"}\\\"}\":1}"), ("g", "{}")],
        ),
        (
            vec![
                begun(0, "c0", "f", "{"),
                begun(1, "c1", "g", "{}"),
                text("x"),
                text("y"),
                more(0, "}"),
                text("z"),
            ],
            &[("f", "{}"), ("g", "{}"), ("text", "xyz")],
        ),
        // No content.
        (vec![begun(0, "c0", "f", ""), begun(1, "c1", "g", "  ")], &[("f", "{}"), ("g", "  {}")]),
        (vec![text("a"), begun(0, "c0", "f", "{}"), text("b")], &[("text", "a"), ("f", "{}"), ("text", "b")]),
        // All of one number, or of none.
        (vec![begun(0, "c0", "f", "{}"), begun(0, "c1", "g", "{}")], &[("f", "{}"), ("g", "{}")]),
        (
            vec![
                chunk(json!({"tool_calls": [{"id": "c0", "function": {"name": "f", "arguments": "{"}}]})),
                chunk(json!({"tool_calls": [{"function": {"arguments": "}"}}]})),
                chunk(json!({"tool_calls": [{"id": "c1", "function": {"name": "g", "arguments": "{}"}}]})),
            ],
            &[("f", "{}"), ("g", "{}")],
        ),
        // Id and name again and again.
        (vec![begun(0, "c0", "f", "{"), begun(0, "c0", "f", "}")], &[("f", "{}")]),
        // A late name.
        (
            vec![
                chunk(json!({"tool_calls": [{"index": 0, "id": "c0", "function": {"arguments": "{"}}]})),
                begun(0, "c0", "f", "}"),
            ],
            &[("f", "{}")],
        ),
    ];
    for (mut data, expected) in table {
        data.push(end("stop"));
        let played = woven(&data);
        assert_eq!(blocks(&played), pairs(expected), "{data:?}");
        assert_eq!(played.names().iter().filter(|name| **name == "ping").count(), 1);
        assert!(played.last);
    }
}

#[test]
fn streams_consecutive_tools_at_once() {
    let data = frames(&[begun(0, "c0", "f", "{}"), begun(1, "c1", "g", "{\"a")]);
    let played = play_in(&state(Protocol::Chat, false), &data, &[1, 1]);
    // The end is missing, so the stream is cut; what came before it had been sent.
    assert_eq!(played.expect_err("cut").obstacle, Obstacle::Upstream);
    let mut relay = gatehouse_sdk::run::relay::<messages::Messages>(
        &crate::messages::cx(),
        &state(Protocol::Chat, false),
    );
    let chunk = gatehouse_sdk::Relay::push(&mut relay, data).expect("good");
    let last: Value = serde_json::from_str(&chunk.send.last().expect("events").data).expect("JSON");
    assert_eq!((&last["index"], &last["delta"]["partial_json"]), (&json!(1), &json!("{\"a")));
}

#[test]
fn shows_thinking_only_on_request() {
    let events = ended(&[chunk(json!({"reasoning_content": "hm"})), text("a"), end("stop")]);
    let quiet = play(&state(Protocol::Chat, false), &events);
    assert_eq!(blocks(&quiet), pairs(&[("text", "a")]));
    let shown = play(&state(Protocol::Chat, true), &events);
    assert_eq!(blocks(&shown), pairs(&[("thinking", "hm"), ("text", "a")]));
    assert_eq!((quiet.written, shown.written), (3, 3), "written either way");
}

#[test]
fn maps_every_finish_reason() {
    let table = [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "end_turn"),
        ("function_call", "end_turn"),
        ("content_filter", "refusal"),
    ];
    for (reason, expected) in table {
        let played = woven(&[text("a"), end(reason)]);
        let ending = &played.events()[5];
        assert_eq!(
            (&ending["type"], &ending["delta"]["stop_reason"]),
            (&json!("message_delta"), &json!(expected))
        );
        assert_eq!(played.usage, None, "no counts came");
    }
    let refused = woven(&[chunk(json!({"refusal": "I cannot"})), end("stop")]);
    assert_eq!(refused.events()[5]["delta"]["stop_reason"], "refusal");
    assert_eq!(blocks(&refused), pairs(&[("text", "I cannot")]));
}

#[test]
fn the_end_waits_for_the_counts() {
    let state = state(Protocol::Chat, false);
    let whole = play(&state, &frames(&[text("a"), end("stop"), counts()]));
    assert!(whole.last, "the counts are the end, [DONE] or not");
    let closed = play(&state, &frames(&[text("a"), end("stop")]));
    assert!(closed.last, "so is the end of the stream");
    let mut along = end("stop");
    along["usage"] = json!({"prompt_tokens": 1, "completion_tokens": 1});
    let counted = play(&state, &frames(&[along, counts()]));
    assert_eq!(counted.usage, whole.usage, "counts beside the reason are not yet the last");
    let events = counted.events();
    assert_eq!(events[events.len() - 2]["usage"]["output_tokens"], 5);
}

#[test]
fn an_end_without_a_reason_fails() {
    for events in [frames(&[text("a")]), vec![done()], vec![], frames(&[text("a"), counts()])] {
        let got = play_in(&state(Protocol::Chat, false), &events, &[]);
        assert_eq!(got.expect_err("cut").obstacle, Obstacle::Upstream, "{events:?}");
    }
}

#[test]
fn inconsistent_pieces_fail_the_stream() {
    let unnamed = chunk(json!({"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": "{}"}}]}));
    let after = vec![begun(0, "c", "f", "{}"), text("a"), more(0, "x"), end("stop")];
    for data in [vec![unnamed, end("stop")], after] {
        let got = play_in(&state(Protocol::Chat, false), &frames(&data), &[]);
        assert_eq!(got.expect_err("torn").obstacle, Obstacle::Upstream);
    }
    let broken = [Sse { event: None, data: "{\"choices\":".to_owned() }];
    assert_eq!(
        play_in(&state(Protocol::Chat, false), &broken, &[]).expect_err("broken").obstacle,
        Obstacle::Upstream
    );
}

#[test]
fn tolerates_extra_events() {
    let filter = json!({"id": "", "choices": [], "prompt_filter_results": [{}]});
    let other =
        json!({"id": "x", "choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]});
    let mut events = vec![Sse { event: Some("keep".to_owned()), data: String::new() }];
    events.extend(frames(&[filter, text("a"), other, end("stop"), counts()]));
    events.extend([done(), done()]);
    events[3].event = Some("chunk".to_owned());
    let played = play(&state(Protocol::Chat, true), &events);
    assert_eq!(played.sent, woven(&[text("a"), end("stop"), counts()]).sent);
}
