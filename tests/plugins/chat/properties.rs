//! Properties of every input: the pieces of a stream do not matter, bytes are kept, nothing panics.

use chat::{Chat, RESPONSES, SURFACE};
use gatehouse_sdk::{Protocol, Relay, Sse, run};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::chat::{
    Heard, asked, cx, named, prepared, relayed, reply, state, streaming, text_of, written, written_to,
};

const PROTOCOLS: [Protocol; 2] = [Protocol::Chat, Protocol::Messages];

/// Any JSON, of the words the family looks for.
fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "text",
        "assistant",
        "user",
        "tool",
        "function",
        "thinking",
        "tool_use",
        "stop",
        "high",
        "json_schema",
        "data:image/png;base64,AA",
        "https://e.com/a",
        "blob:x",
        "{}",
        "",
        "\u{1f600}\n",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
        "input_json_delta",
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "[DONE]",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..70_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "role",
        "content",
        "text",
        "messages",
        "model",
        "tools",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "index",
        "delta",
        "choices",
        "message",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "error",
        "code",
        "content_block",
        "thinking",
        "thinking_blocks",
        "signature",
        "partial_json",
        "stop_reason",
        "image_url",
        "url",
        "stream",
        "stream_options",
        "reasoning_effort",
        "response_format",
        "json_schema",
        "schema",
        "tool_choice",
        "tool_call_id",
        "stop",
        "max_tokens",
        "input",
        "object",
        "created",
        "data",
        "detail",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

fn event() -> impl Strategy<Value = Sse> {
    let data = prop_oneof![value().prop_map(|value| value.to_string()), ".{0,12}", Just("[DONE]".to_owned())];
    (prop::option::of(prop::sample::select(vec!["message", "ping", "error", "content_block_delta"])), data)
        .prop_map(|(event, data)| Sse { event: event.map(str::to_owned), data })
}

/// A stream of a messages provider that is as it should be.
fn blocks() -> impl Strategy<Value = Vec<Sse>> {
    let piece = "[a-z\u{e9}\u{1f600}\"\\\\\n]{0,6}";
    let text = prop::collection::vec(piece, 0..4).prop_map(|pieces| ("text", "text_delta", "text", pieces));
    let thought = prop::collection::vec(piece, 0..4)
        .prop_map(|pieces| ("thinking", "thinking_delta", "thinking", pieces));
    let call = prop::collection::vec(piece, 0..4)
        .prop_map(|pieces| ("tool_use", "input_json_delta", "partial_json", pieces));
    prop::collection::vec(prop_oneof![text, thought, call], 0..5).prop_map(|blocks| {
        let mut lines = vec![json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3, "output_tokens": 1}}})];
        for (index, (kind, delta, member, pieces)) in blocks.into_iter().enumerate() {
            let block = json!({"type": kind, "id": format!("toolu_{index}"), "name": "f"});
            lines.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
            for piece in pieces {
                lines.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": delta, member: piece}}));
            }
            lines.push(json!({"type": "content_block_stop", "index": index}));
        }
        lines.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}));
        lines.push(json!({"type": "message_stop"}));
        named(&lines)
    })
}

/// The state of a streamed request for a response.
fn response_state(protocol: Protocol) -> Vec<u8> {
    let body = json!({"model": "lm-sonnet", "input": "hi", "stream": true});
    prepared(written_to(RESPONSES, protocol, json!({}), &body)).state
}

/// Two surfaces read one stream at one price, and fail alike.
fn same_bill(chat: &Heard, response: &Heard) {
    assert_eq!((chat.usage, chat.written, chat.last), (response.usage, response.written, response.last));
    assert_eq!(chat.stopped, response.stopped);
}

/// A chunk of a chat provider; where texts are `escaped`, each of their characters is.
fn text_chunk(field: &str, text: &str, padding: Option<&str>, others: u8, escaped: bool) -> Sse {
    let written = |text: &str| crate::quoted(text, escaped);
    let finish = if others == 1 { r#","finish_reason":"stop""# } else { "" };
    let role = if others == 2 { r#""role":"assistant","# } else { "" };
    let refusal = if others == 3 { r#","refusal":"no""# } else { "" };
    let padding =
        padding.map(|padding| format!(r#","obfuscation":{}"#, written(padding))).unwrap_or_default();
    let delta = format!(r#"{{{role}"{field}":{}{refusal}}}"#, written(text));
    let index = usize::from(others == 4);
    let data = format!(r#"{{"id":"c","choices":[{{"index":{index},"delta":{delta}{finish}}}]{padding}}}"#);
    Sse { event: None, data }
}

/// An event of a messages provider's block: mostly a piece of text, which may be `escaped`.
fn block_event(what: usize, index: u32, text: &str, escaped: bool) -> Sse {
    let text = crate::quoted(text, escaped);
    let call = r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#;
    let (name, data) = match what {
        0 => ("content_block_start", format!(r#""content_block":{call}"#)),
        1 => ("content_block_stop", r#""more":0"#.to_owned()),
        2 => ("content_block_delta", format!(r#""delta":{{"type":"thinking_delta","thinking":{text}}}"#)),
        _ => ("content_block_delta", format!(r#""delta":{{"type":"text_delta","text":{text}}}"#)),
    };
    let data = format!(r#"{{"type":"{name}","index":{index},{data}}}"#);
    Sse { event: Some(name.to_owned()), data }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pieces_of_a_stream_do_not_matter(events in prop::collection::vec(event(), 0..12), size in 2_usize..7) {
        for protocol in PROTOCOLS {
            let chat = streaming(protocol, false);
            prop_assert_eq!(relayed(&chat, &events, 1), relayed(&chat, &events, size));
            let response = response_state(protocol);
            let heard = relayed(&response, &events, size);
            prop_assert_eq!(&relayed(&response, &events, 1), &heard);
            same_bill(&relayed(&chat, &events, size), &heard);
        }
    }

    /// A text without escapes is put into a template, one with them is parsed: the client must not see a difference.
    #[test]
    fn a_repeated_chunk_reads_as_a_parsed_one(
        chunks in prop::collection::vec(
            (prop::sample::select(vec!["content", "reasoning_content"]), "[a-c\"\\\\ \n\u{e9}\u{1f600}]{0,4}",
             prop::option::of("[a-z]{0,2}"), 0_u8..12), 1..16),
        counted: bool,
    ) {
        let fields = json!({"stream": true, "stream_options": {"include_usage": counted}});
        let state = state(Protocol::Chat, fields);
        let heard = |escaped| {
            let chunk = |(field, text, padding, others): &(&str, String, Option<String>, u8)| {
                text_chunk(field, text, padding.as_deref(), *others, escaped)
            };
            let mut heard = relayed(&state, &chunks.iter().map(chunk).collect::<Vec<_>>(), 1);
            let read = |data: &String| serde_json::from_str::<Value>(data).expect("JSON");
            let data: Vec<Value> = heard.data.iter().filter(|data| *data != "[DONE]").map(read).collect();
            heard.data.clear();
            (data, heard)
        };
        prop_assert_eq!(heard(false), heard(true));
    }

    /// The same of a messages provider's deltas, between which blocks end and begin.
    #[test]
    fn a_repeated_delta_reads_as_a_parsed_one(
        deltas in prop::collection::vec((0..6_usize, 0..2_u32, "[a-c\"\\\\ \n\u{e9}\u{1f600}]{0,4}"), 0..16),
        counted: bool,
    ) {
        let fields = json!({"stream": true, "stream_options": {"include_usage": counted}});
        let state = state(Protocol::Messages, fields);
        let heard = |escaped| {
            let start = json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}});
            let delta = |(what, index, text): &(usize, u32, String)| block_event(*what, *index, text, escaped);
            let events: Vec<Sse> = named(&[start]).into_iter().chain(deltas.iter().map(delta)).collect();
            let mut heard = relayed(&state, &events, 1);
            let read = |data: &String| serde_json::from_str::<Value>(data).unwrap_or_default();
            let data: Vec<Value> = heard.data.iter().map(read).collect();
            heard.data.clear();
            (data, heard)
        };
        prop_assert_eq!(heard(false), heard(true));
    }

    #[test]
    fn a_response_says_what_the_provider_said_at_the_same_price(events in blocks(), size in 1_usize..7) {
        let heard = relayed(&response_state(Protocol::Messages), &events, size);
        same_bill(&relayed(&streaming(Protocol::Messages, false), &events, size), &heard);
        let told: Vec<Value> = heard.data.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
        for (number, event) in told.iter().enumerate() {
            prop_assert_eq!(&event["sequence_number"], &json!(number));
        }
        let joined = |kind: &str| -> String {
            let deltas = told.iter().filter(|event| event["type"] == kind);
            deltas.filter_map(|event| event["delta"].as_str()).collect()
        };
        let said = |member: &str| -> String {
            let parsed = events.iter().map(|event| serde_json::from_str::<Value>(&event.data).unwrap());
            parsed.filter_map(|event| event["delta"][member].as_str().map(str::to_owned)).collect()
        };
        prop_assert_eq!(joined("response.output_text.delta"), said("text"));
        prop_assert_eq!(joined("response.reasoning_summary_text.delta"), said("thinking"));
        prop_assert_eq!(joined("response.function_call_arguments.delta").replace("{}", ""), said("partial_json"));
        let last = told.last().expect("events");
        prop_assert_eq!(&last["type"], &json!("response.completed"));
        // What was told as done is what the last object has.
        let done = told.iter().filter(|event| event["type"] == "response.output_item.done");
        let done: Vec<&Value> = done.map(|event| &event["item"]).collect();
        let mut output: Vec<&Value> = last["response"]["output"].as_array().expect("items").iter().collect();
        prop_assert_eq!(done.len(), output.len());
        output.retain(|item| !done.contains(item));
        prop_assert!(output.is_empty(), "{:?}", output);
    }

    #[test]
    fn a_stream_says_what_the_provider_said(events in blocks(), size in 1_usize..7) {
        let state = streaming(Protocol::Messages, false);
        let heard = relayed(&state, &events, size);
        let (mut text, mut thought, mut arguments) = (String::new(), String::new(), String::new());
        for chunk in heard.chunks() {
            let delta = &chunk["choices"][0]["delta"];
            text += delta["content"].as_str().unwrap_or_default();
            thought += delta["reasoning_content"].as_str().unwrap_or_default();
            arguments += delta["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default();
        }
        let told = |member: &str| -> String {
            let parsed = events.iter().map(|event| serde_json::from_str::<Value>(&event.data).unwrap());
            parsed.filter_map(|event| event["delta"][member].as_str().map(str::to_owned)).collect()
        };
        prop_assert_eq!(&text, &told("text"));
        prop_assert_eq!(&thought, &told("thinking"));
        prop_assert_eq!(arguments.replace("{}", ""), told("partial_json"));
        prop_assert_eq!(heard.usage.map(|usage| usage.output), Some(9));
        let least = text.len() + thought.len() + arguments.len();
        prop_assert!(heard.written as usize >= least);
    }

    #[test]
    fn whatever_comes_is_answered_in_json_or_refused(fields in value(), both in any::<bool>()) {
        let body = if both && fields.is_object() {
            let mut body = fields;
            body["model"] = json!("lm-sonnet");
            body
        } else {
            json!({"model": "lm-sonnet", "messages": fields})
        };
        for protocol in PROTOCOLS {
            for (surface, member) in [(SURFACE, "messages"), (RESPONSES, "input")] {
                let mut body = body.clone();
                let said = body["messages"].take();
                body[member] = said;
                if let Ok(prepared) = run::prepare::<Chat>(&cx(), written_to(surface, protocol, json!({}), &body)) {
                    serde_json::from_str::<Value>(text_of(&prepared.call)).expect("a call carries JSON");
                }
            }
        }
    }

    #[test]
    fn whatever_a_provider_says_is_read(body in value(), raw in ".{0,40}", status in 199_u16..600) {
        for protocol in PROTOCOLS {
            let state = state(protocol, json!({}));
            for body in [body.to_string(), raw.clone()] {
                for state in [&state, &response_state(protocol)] {
                    if let Ok(answered) = run::answer::<Chat>(&cx(), state, reply(status, &body)) {
                        serde_json::from_str::<Value>(&answered.body).expect("an answer is JSON");
                    }
                }
            }
        }
    }

    #[test]
    fn texts_arrive_as_they_were_meant(system in "a.{0,40}", user in "a.{0,40}", arguments in ".{0,20}") {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": json!({"a": arguments}).to_string()}});
        let messages = json!([
            {"role": "system", "content": system}, {"role": "user", "content": user},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": user},
        ]);
        let sent = prepared(asked(Protocol::Messages, json!({}), json!({"messages": messages})));
        let sent_body = sent.call.json_body();
        prop_assert_eq!(&sent_body["system"], &json!(system));
        prop_assert_eq!(&sent_body["messages"][0]["content"][0]["text"], &json!(user));
        prop_assert_eq!(&sent_body["messages"][1]["content"][0]["input"]["a"], &json!(arguments));
        prop_assert_eq!(&sent_body["messages"][2]["content"][0]["content"], &json!(user));
        prop_assert_eq!(sent.input_bytes as usize, system.len() + 2 * user.len() + 1 + json!({"a": arguments}).to_string().len());
    }
}

#[test]
fn nothing_follows_the_end() {
    for protocol in PROTOCOLS {
        let state = streaming(protocol, false);
        let lines = [
            json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ];
        let mut events = named(&lines[if protocol == Protocol::Chat { 0..1 } else { 1..3 }]);
        events.push(Sse { event: None, data: "[DONE]".into() });
        let mut relay = run::relay::<Chat>(&cx(), &state);
        assert!(relay.push(events.clone()).unwrap().last);
        let after = relay.push(events).unwrap();
        assert!(after.send.is_empty() && !after.last);
        assert!(relay.end().unwrap().send.is_empty());
    }
}

#[test]
fn accepts_or_refuses_deep_and_long_bodies() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let user = r#"[{"role":"user","content":"x"}]"#;
    for field in ["messages", "tools", "anything", "temperature"] {
        let messages = if field == "messages" { &deep } else { user };
        let other = if field == "messages" { "other" } else { field };
        let body = format!(r#"{{"model":"lm-sonnet","messages":{messages},"{other}":{deep}}}"#);
        for protocol in PROTOCOLS {
            let taken =
                run::prepare::<Chat>(&cx(), written(protocol, json!({"pass": ["anything"]}), &body)).is_ok();
            assert_eq!(taken, field == "anything", "{field}");
        }
    }
}
