//! A final assistant message, which the answer goes on from: sent where the model continues one, and told to it where not.
//! Its text is neither repeated in the answer nor lost from it.

use gatehouse_sdk::{Protocol, Reply};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, ended, play, prepare, sent};

fn ends_with(content: Value) -> Value {
    json!({"messages": [{"role": "user", "content": "a list"}, {"role": "assistant", "content": content}]})
}

/// The text of a whole answer and of a stream of it.
fn answered(protocol: Protocol, rules: Value, prefill: &str, pieces: &[&str]) -> [String; 2] {
    let prepared = prepare(&body(ends_with(json!(prefill))), protocol, rules).expect("the request is good");
    let text = pieces.concat();
    let (whole, events) = match protocol {
        Protocol::Chat => {
            let whole = json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
            let chunk = |delta: Value, reason: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
            let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
            chunks.extend(pieces.iter().map(|piece| chunk(json!({"content": piece}), Value::Null)));
            chunks.push(chunk(json!({}), json!("stop")));
            let events = ended(&chunks);
            (whole, events)
        }
        Protocol::Messages => {
            let message = |content: Value| {
                json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
                       "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
            };
            let mut events = vec![
                json!({"type": "message_start", "message": message(json!([]))}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            ];
            events.extend(pieces.iter().map(|piece| {
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
            }));
            events.extend([
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
                json!({"type": "message_stop"}),
            ]);
            let events = events.iter().map(crate::named).collect();
            (message(json!([{"type": "text", "text": text}])), events)
        }
    };
    let whole = both().answer::<Messages>(&prepared.state, &Reply::new(200, &whole)).expect("an answer");
    let whole: Value = serde_json::from_str(&whole.body).expect("JSON");
    let whole = whole["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    let played = play(&prepared.state, &events);
    assert!(played.last);
    let streamed = played.events().iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    [whole, streamed]
}

/// Without it a prefill is a 400 on every model that does not continue one.
#[test]
fn a_model_that_continues_nothing_is_told_to_begin_with_the_text() {
    let told = "<system-reminder>\nBegin your reply with exactly this text, with nothing before it, and go on right after it:\n\
                {\"a\":\n</system-reminder>";
    for rules in [json!({}), json!({"prefill": "emulate"})] {
        let over_messages = sent(ends_with(json!("{\"a\": ")), Protocol::Messages, rules.clone());
        assert_eq!(
            over_messages["messages"],
            json!([{"role": "user", "content": "a list"}, {"role": "user", "content": told}])
        );
        assert!(over_messages["max_tokens"].as_u64() > Some(4096), "the text costs tokens again");
        let over_chat = sent(ends_with(json!([{"type": "text", "text": "{\"a\": "}])), Protocol::Chat, rules);
        assert_eq!(over_chat["messages"], json!([{"role": "user", "content": format!("a list\n{told}")}]));
    }
    let native = sent(ends_with(json!("I will \n")), Protocol::Messages, json!({"prefill": "native"}));
    assert_eq!(
        native["messages"][1],
        json!({"role": "assistant", "content": "I will"}),
        "no white space at its end"
    );
    for rules in [json!({}), json!({"prefill": "native"})] {
        let silent = sent(ends_with(json!(" ")), Protocol::Messages, rules);
        assert_eq!(silent["messages"], json!([{"role": "user", "content": "a list"}]));
    }
    let after_call = json!({"messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}]});
    assert!(
        prepare(&body(after_call), Protocol::Messages, json!({})).is_err(),
        "a call is no beginning of a text"
    );
}

#[test]
fn the_text_is_neither_repeated_nor_lost() {
    for protocol in [Protocol::Messages, Protocol::Chat] {
        for (prefill, pieces, expected) in [
            ("{\"a\":", &["{\"", "a\":", " 1}"][..], " 1}"),
            ("{\"a\":", &["{\"a\": 1}"], " 1}"),
            ("{\"a\":", &[" 1", "}"], " 1}"),
            ("{\"a\":", &["{\"", "b\": 1}"], "{\"b\": 1}"),
            ("Hello ", &["Hello", " ", "you"], "you"),
            ("Hello", &["Hel"], "Hel"),
            ("Hello", &["Hello"], ""),
        ] {
            let got = answered(protocol, json!({}), prefill, pieces);
            assert_eq!(got, [expected, expected], "{protocol:?} {prefill:?} {pieces:?}");
        }
    }
    let native = answered(Protocol::Messages, json!({"prefill": "native"}), "Hello ", &[" you", " two"]);
    assert_eq!(native, ["you two", "you two"], "the white space that was not sent is the client's already");
}

/// Without it the provider refuses a history that the gateway itself may have made.
#[test]
fn what_says_nothing_is_left_out_of_a_history() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let messages = json!([
        {"role": "user", "content": [text(" "), text("a"), text("\n")]},
        {"role": "assistant", "content": [text("")]},
        {"role": "user", "content": "  "},
        {"role": "assistant", "content": [text(" "), {"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [text(" ")]}, text("b")]},
    ]);
    let fields = json!({"system": [text(" "), text("be brief")], "messages": messages});
    let got = sent(fields.clone(), Protocol::Messages, json!({}));
    assert_eq!(got["system"], json!([text("be brief")]));
    assert_eq!(
        got["messages"],
        json!([
            {"role": "user", "content": [text("a")]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}, text("b")]},
        ])
    );
    sent(fields, Protocol::Chat, json!({}));
    let blank = json!({"system": " ", "messages": [{"role": "user", "content": "a"}]});
    assert!(sent(blank, Protocol::Messages, json!({})).get("system").is_none());
    let last = body(json!({"messages": [{"role": "user", "content": [text(" ")]}]}));
    let refusal = prepare(&last, Protocol::Messages, json!({})).expect_err("nothing is asked");
    assert!(
        format!("{refusal:?}").contains("text content blocks must contain non-whitespace text"),
        "{refusal:?}"
    );
}
