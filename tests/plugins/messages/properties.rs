//! Properties of every input: chunking changes nothing, thinking keeps its bytes, nothing panics.

use gatehouse_sdk::{Protocol, Relay, Reply, Sse, run};
use messages::Messages;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::messages::{body, cx, ended, frames, play_in, play_until, state, text_request, written};

/// JSON of any shape, with the words of both protocols in it.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "model",
        "messages",
        "role",
        "user",
        "assistant",
        "content",
        "type",
        "text",
        "image",
        "source",
        "base64",
        "data",
        "thinking",
        "signature",
        "enabled",
        "budget_tokens",
        "tool_use",
        "tool_result",
        "id",
        "name",
        "input",
        "max_tokens",
        "tools",
        "choices",
        "delta",
        "message",
        "finish_reason",
        "usage",
        "error",
        "index",
        "tool_calls",
        "function",
        "arguments",
        "content_block",
        "message_start",
        "message_delta",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

/// A stream of chat chunks: text, reasoning and up to three tools whose JSON comes in pieces, in any order.
fn any_chat() -> impl Strategy<Value = Vec<Sse>> {
    let piece = prop_oneof![
        "[a-zé\"{}]{0,4}".prop_map(|text| json!({"content": text})),
        "[a-z]{0,4}".prop_map(|text| json!({"reasoning_content": text})),
        (0..3_usize, 0..4_usize).prop_map(|(tool, step)| {
            let arguments = ["{\"a\":", "\"}", "\\\"{", "\"}"][step];
            json!({"tool_calls": [{"index": tool, "id": format!("c{tool}"),
                "function": {"name": format!("f{tool}"), "arguments": arguments}}]})
        }),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|deltas| {
        let mut data: Vec<Value> =
            deltas.into_iter().map(|delta| json!({"id": "x", "choices": [{"delta": delta}]})).collect();
        data.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
        data.push(json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}));
        ended(&data)
    })
}

fn any_messages() -> impl Strategy<Value = Vec<Sse>> {
    prop::collection::vec(("[a-zé]{0,4}", any::<bool>(), 0..9_u32), 0..8).prop_map(|blocks| {
        let mut data = vec![json!({"type": "message_start",
            "message": {"id": "m", "model": "x", "content": [], "usage": {"input_tokens": 1}}})];
        for (index, (text, closed, output)) in blocks.into_iter().enumerate() {
            data.push(json!({"type": "content_block_start", "index": index,
                "content_block": {"type": "text", "text": ""}}));
            data.push(json!({"type": "ping"}));
            data.push(json!({"type": "content_block_delta", "index": index,
                "delta": {"type": "text_delta", "text": text}}));
            if closed {
                data.push(json!({"type": "content_block_stop", "index": index}));
            }
            data.push(json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": output}}));
        }
        data.push(json!({"type": "message_stop"}));
        frames(&data)
    })
}

/// Everything the family is asked, with `text` in the place of what others write.
fn ask_everything(text: &str) {
    for protocol in [Protocol::Messages, Protocol::Chat] {
        let _ = run::prepare::<Messages>(&cx(), text_request(&text, protocol, json!({})));
        for status in [200, 400, 404, 429] {
            let _ = run::answer::<Messages>(&cx(), &state(protocol, true), Reply::raw(status, text));
        }
        let mut relay = run::relay::<Messages>(&cx(), &state(protocol, true));
        let _ = relay.push(vec![Sse { event: None, data: text.to_owned() }]);
        let _ = relay.end();
    }
}

proptest! {
    #[test]
    fn any_chunking_of_a_chat_stream_is_the_same(
        events in any_chat(), sizes in prop::collection::vec(0..5_usize, 0..12), thinking: bool,
    ) {
        let state = state(Protocol::Chat, thinking);
        prop_assert_eq!(play_until(&state, &events, &sizes), play_until(&state, &events, &[]));
    }

    #[test]
    fn any_chunking_of_a_messages_stream_is_the_same(
        events in any_messages(), sizes in prop::collection::vec(0..5_usize, 0..12),
    ) {
        let state = state(Protocol::Messages, false);
        let whole = play_in(&state, &events, &[]).expect("good");
        prop_assert!(whole.last);
        prop_assert_eq!(play_in(&state, &events, &sizes).expect("good"), whole);
    }

    /// A text without escapes is put into a template, one with them is parsed: the client must not see a difference.
    #[test]
    fn a_repeated_delta_reads_as_a_parsed_one(
        deltas in prop::collection::vec(
            (0..2_u32, prop::sample::select(vec!["text", "thinking", "partial_json"]), "[a-c\"\\\\ \n\u{e9}\u{1f600}]{0,4}"),
            0..16,
        ),
    ) {
        let state = state(Protocol::Messages, false);
        let played = |escaped: bool| {
            let events: Vec<Sse> = deltas.iter().map(|(index, field, text)| {
                let text = crate::quoted(text, escaped);
                let data = format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"d","{field}":{text}}}}}"#);
                Sse { event: Some("content_block_delta".to_owned()), data }
            }).collect();
            let (played, _) = play_until(&state, &events, &[]);
            let read = |event: &Sse| (event.event.clone(), serde_json::from_str::<Value>(&event.data).expect("JSON"));
            (played.sent.iter().map(read).collect::<Vec<_>>(), played.written, played.last)
        };
        prop_assert_eq!(played(false), played(true));
    }

    /// The same of a chat provider's chunks, between which calls begin.
    #[test]
    fn a_repeated_chunk_reads_as_a_parsed_one(
        chunks in prop::collection::vec((0..7_usize, "[a-c\"\\\\ \n\u{e9}\u{1f600}]{0,4}"), 0..16), thinking: bool,
    ) {
        let state = state(Protocol::Chat, thinking);
        let played = |escaped: bool| {
            let events: Vec<Sse> = chunks.iter().map(|(what, text)| {
                let text = crate::quoted(text, escaped);
                let delta = match what {
                    0 => r#""tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{}"}}]"#.to_owned(),
                    1 => format!(r#""reasoning_content":{text}"#),
                    2 => format!(r#""refusal":{text}"#),
                    _ => format!(r#""content":{text}"#),
                };
                let data = format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{{delta}}},"finish_reason":null}}]}}"#);
                Sse { event: None, data }
            }).collect();
            let (played, _) = play_until(&state, &events, &[]);
            let read = |event: &Sse| (event.event.clone(), serde_json::from_str::<Value>(&event.data).expect("JSON"));
            (played.sent.iter().map(read).collect::<Vec<_>>(), played.written, played.last)
        };
        prop_assert_eq!(played(false), played(true));
    }

    #[test]
    fn thinking_comes_back_byte_for_byte(
        thought in ".{0,20}", signature in "[A-Za-z0-9+/=]{1,40}", later in any_json(), spaces in " {0,3}",
    ) {
        let block = format!(
            r#"{{"type":{spaces}"thinking", "later":{later},"signature":{},"thinking":{}{spaces}}}"#,
            json!(signature), json!(thought),
        );
        let turns = format!(
            r#"[{{"role":"assistant","content":[{block}, {{"type":"redacted_thinking","data":"x"}}]}},{{"role":"user","content":"a"}}]"#
        );
        let text = format!(r#"{{"max_tokens":9,"messages":{turns}}}"#);
        let prepared = run::prepare::<Messages>(&cx(), text_request(&text, Protocol::Messages, json!({}))).expect("good");
        prop_assert!(written(&prepared.call).contains(&turns));
    }

    #[test]
    fn what_passes_is_json_and_weighs_no_more_than_it_came(turns in any_json(), fields in any_json()) {
        let mut asked = body(json!({"messages": turns}));
        if let Value::Object(fields) = fields {
            asked.as_object_mut().expect("an object").extend(fields);
        }
        let text = asked.to_string();
        for protocol in [Protocol::Messages, Protocol::Chat] {
            if let Ok(prepared) = run::prepare::<Messages>(&cx(), text_request(&text, protocol, json!({}))) {
                prop_assert!(serde_json::from_str::<Value>(&written(&prepared.call)).is_ok());
                prop_assert!(prepared.input_bytes as usize <= text.len());
            }
        }
    }

    #[test]
    fn text_weighs_what_it_reads_as_however_it_is_written(text in "[a\\\\\"/\u{1}é€😀]{1,12}", ascii: bool) {
        let quoted = if ascii {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
            format!("\"{}\"", units.collect::<String>())
        } else {
            json!(text).to_string()
        };
        let asked = format!(r#"{{"max_tokens":9,"messages":[{{"role":"user","content":{quoted}}}]}}"#);
        let prepared = run::prepare::<Messages>(&cx(), text_request(&asked, Protocol::Messages, json!({}))).expect("good");
        prop_assert_eq!(prepared.input_bytes as usize, text.len(), "{}", asked);
    }

    #[test]
    fn arbitrary_json_never_panics(value in any_json()) {
        ask_everything(&value.to_string());
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,40}") {
        ask_everything(&text);
    }

    #[test]
    fn a_good_request_with_one_field_bent_never_panics(name in 0..13_usize, value in any_json()) {
        let names = [
            "model", "messages", "max_tokens", "thinking", "system", "temperature", "top_p", "top_k", "stream",
            "stop_sequences", "metadata", "tools", "tool_choice",
        ];
        ask_everything(&body(json!({names[name]: value})).to_string());
    }
}
