//! What a provider numbers, names or adds otherwise costs a client of messages no answer, or a part of one, that was paid.

use gatehouse_sdk::{Obstacle, Protocol, Reply, Sse, TextFailure};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{both, play_in, rejected, state};

/// The text and the inputs of the blocks, whole and streamed.
fn heard(protocol: Protocol, whole: &str, events: &[&str]) -> [Result<(String, Vec<Value>), TextFailure>; 2] {
    let state = state(protocol, false);
    let answered = both().answer::<Messages>(&state, &Reply::raw(200, whole)).map(|answered| {
        let body: Value = serde_json::from_str(&answered.body).expect("JSON");
        let (mut text, mut inputs) = (String::new(), vec![]);
        for block in body["content"].as_array().expect("blocks") {
            text += block["text"].as_str().unwrap_or_default();
            inputs.extend(block.get("input").cloned());
        }
        (text, inputs)
    });
    let named = |data: &str| {
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        Sse { event: event["type"].as_str().map(str::to_owned), data: data.to_owned() }
    };
    let events: Vec<Sse> = events.iter().map(|data| named(data)).collect();
    let streamed = play_in(&state, &events, &vec![1; events.len()]).map(|played| {
        let (mut text, mut inputs) = (String::new(), Vec::<String>::new());
        for event in played.events() {
            if event["content_block"]["type"] == "tool_use" {
                inputs.push(String::new());
            }
            text += event["delta"]["text"].as_str().unwrap_or_default();
            if let Some(piece) = event["delta"]["partial_json"].as_str() {
                *inputs.last_mut().expect("a call") += piece;
            }
        }
        (text, inputs.iter().map(|input| serde_json::from_str(input).expect("JSON")).collect())
    });
    [answered, streamed]
}

/// A name, the provider's protocol, the whole answer, the events of a stream, and the text and the blocks that the client gets.
type Row = (&'static str, Protocol, &'static str, &'static [&'static str], (&'static str, Vec<Value>));

#[test]
fn no_form_of_an_answer_loses_a_part_of_it() {
    let table: [Row; 7] = [
        (
            "the only choice is number 1",
            Protocol::Chat,
            r#"{"id":"c","choices":[{"index":1,"message":{"content":"Hi"},"finish_reason":"stop"}]}"#,
            &[
                r#"{"id":"c","choices":[{"index":1,"delta":{"content":"Hi"}}]}"#,
                r#"{"id":"c","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            ("Hi", vec![]),
        ),
        (
            "names twice, of a chat provider",
            Protocol::Chat,
            r#"{"id":"b","id":"c","choices":[{"index":0,"message":{"content":null,"content":"Hi"},"finish_reason":"stop","finish_reason":"stop"}]}"#,
            &[
                r#"{"id":"b","id":"c","choices":[{"index":0,"delta":{"content":"","content":"Hi"}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":null,"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            ("Hi", vec![]),
        ),
        (
            "names twice, of a messages provider",
            Protocol::Messages,
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","model":"m","content":[{"type":"text","text":"","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#,
            &[
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"},"delta":{"type":"text_delta","text":"Hi"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1},"usage":{"output_tokens":1}}"#,
                r#"{"type":"message_stop"}"#,
            ],
            ("Hi", vec![]),
        ),
        (
            "the same, whole in a stream",
            Protocol::Messages,
            r#"{"id":"msg_1","type":"message","model":"m","content":[],"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}"#,
            &[
                r#"{"id":"msg_1","type":"message","model":"m","content":[{"type":"text","text":"","text":"Hi"}],"stop_reason":"end_turn"}"#,
            ],
            ("Hi", vec![]),
        ),
        (
            "two objects as the arguments of one call",
            Protocol::Chat,
            r#"{"id":"c","choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"p\":0}{\"p\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            &[
                r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"p\":0}{\"p\""}}]}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ],
            ("", vec![json!({"p": 0}), json!({"p": 1})]),
        ),
        (
            "two objects as the input of one call",
            Protocol::Messages,
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"f","input":"{\"p\":0}\n{\"p\":1}{\"p\":1}"},{"type":"text","text":"Hi"}],"stop_reason":"tool_use"}"#,
            &[
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"p\":0"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"}\n{\"p\":"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}{\"p\":1}"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#,
                r#"{"type":"message_stop"}"#,
            ],
            ("Hi", vec![json!({"p": 0}), json!({"p": 1})]),
        ),
        (
            "the same at the beginning of its block",
            Protocol::Messages,
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"f","input":"{\"p\":0}{\"p\":1}"}],"stop_reason":"end_turn"}"#,
            &[
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":"{\"p\":0}{\"p\":1}"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#,
                r#"{"type":"message_stop"}"#,
            ],
            ("", vec![json!({"p": 0}), json!({"p": 1})]),
        ),
    ];
    for (form, protocol, whole, events, (text, inputs)) in table {
        for found in heard(protocol, whole, events) {
            assert_eq!(found, Ok((text.to_owned(), inputs.clone())), "{form}");
        }
    }
}

/// Without it an answer that is a picture is an empty success, which its client pays.
#[test]
fn a_picture_fails_the_answer() {
    let picture = json!({"type": "image_url", "image_url": {"url": "https://cdn.example/a.png"}});
    for message in [
        json!({"role": "assistant", "content": "", "images": [picture]}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "Here"}, picture]}),
        json!({"role": "assistant", "content": null, "audio": {"id": "a", "data": "AAAA", "transcript": "Hi"}}),
    ] {
        let whole =
            json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let failure = rejected(Protocol::Chat, 200, &whole);
        let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": message}]}).to_string();
        let streamed = heard(Protocol::Chat, "{}", &[&chunk]).into_iter().next_back().expect("a stream");
        for failure in [failure, streamed.expect_err("a failure")] {
            assert_eq!(failure.obstacle, Obstacle::Upstream, "{message}");
            assert!(failure.message.contains("a picture, a sound or a file"), "{failure:?}");
        }
    }
}

/// Without it a client that reads counts without a sign fails at the answer.
#[test]
fn no_count_that_a_client_reads_is_below_zero() {
    let state = state(Protocol::Messages, false);
    for (usage, expected) in [
        (json!({"input_tokens": -1, "output_tokens": 3}), (0, 3)),
        (json!({"input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": -4}), (5, 3)),
    ] {
        let whole = json!({"id": "msg_1", "type": "message", "model": "m", "content": [], "stop_reason": "end_turn", "usage": usage});
        let answered = both().answer::<Messages>(&state, &Reply::new(200, &whole)).expect("an answer");
        let body: Value = serde_json::from_str(&answered.body).expect("JSON");
        let read = |usage: &Value| {
            let all = usage.as_object().expect("counts").values().filter(|count| count.is_number());
            assert!(all.into_iter().all(|count| count.as_u64().is_some()), "{usage}");
            (usage["input_tokens"].as_u64().unwrap_or(0), usage["output_tokens"].as_u64().unwrap_or(0))
        };
        assert_eq!(read(&body["usage"]), expected);
    }
}
