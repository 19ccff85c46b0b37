//! What a provider numbers, names or adds otherwise costs no client an answer, or a part of one, that was paid: for clients of chat
//! and for those of responses.

use chat::Chat;
use gatehouse_sdk::{Obstacle, Protocol, TextFailure};
use serde_json::{Value, json};

use super::responses;
use crate::chat::{both, data, prepared, relayed, reply, state, streaming};

/// The text and the calls' arguments of an answer, whole and streamed, for a client of chat and for one of responses.
fn heard(whole: &str, chunks: &[&str]) -> Vec<Result<(String, Vec<String>), TextFailure>> {
    let chat = streaming(Protocol::Chat, false);
    let response = responses::state(json!({"stream": true}));
    let mut found = Vec::new();
    for (is_response, state) in [(false, chat), (true, response)] {
        let answered = both().answer::<Chat>(&state, &reply(200, whole));
        found.push(answered.map(|answered| {
            let body: Value = serde_json::from_str(&answered.body).expect("JSON");
            if is_response { of_response(&body) } else { of_message(&body["choices"][0]["message"]) }
        }));
        let heard = relayed(&state, &data(chunks), 1);
        let told: Vec<Value> = heard.data.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
        found.push(match heard.stopped {
            Some(failure) => Err(failure),
            None if is_response => Ok(of_response(&told.last().expect("an end")["response"])),
            None => Ok(joined(&told)),
        });
    }
    found
}

fn of_message(message: &Value) -> (String, Vec<String>) {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let arguments = calls.map(|call| call["function"]["arguments"].as_str().unwrap_or_default().to_owned());
    (message["content"].as_str().unwrap_or_default().to_owned(), arguments.collect())
}

fn of_response(response: &Value) -> (String, Vec<String>) {
    let (mut text, mut calls) = (String::new(), vec![]);
    for item in response["output"].as_array().expect("items") {
        match item["arguments"].as_str() {
            Some(arguments) => calls.push(arguments.to_owned()),
            None => text += item["content"][0]["text"].as_str().unwrap_or_default(),
        }
    }
    (text, calls)
}

/// The chunks as a client library joins them: by the numbers of choices and calls.
fn joined(chunks: &[Value]) -> (String, Vec<String>) {
    let (mut text, mut calls) = (String::new(), Vec::<String>::new());
    for choice in chunks.iter().filter_map(|chunk| chunk["choices"].get(0)).filter(|it| it["index"] == 0) {
        text += choice["delta"]["content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(call["index"].as_u64().expect("a number")).expect("few");
            calls.resize(calls.len().max(at + 1), String::new());
            calls[at] += call["function"]["arguments"].as_str().unwrap_or_default();
        }
    }
    (text, calls)
}

/// A name, the whole answer, the events of a stream, and the text and the calls that the client gets.
type Row = (&'static str, &'static str, &'static [&'static str], (String, Vec<String>));

#[test]
fn no_form_of_an_answer_loses_a_part_of_it() {
    let text = |text: &str| (text.to_owned(), vec![]);
    let calls = |calls: &[&str]| (String::new(), calls.iter().map(|&call| call.to_owned()).collect());
    let table: [Row; 5] = [
        (
            "the only choice is number 1",
            r#"{"id":"c","choices":[{"index":1,"message":{"role":"assistant","content":"Hi you"},"finish_reason":"stop"}]}"#,
            &[
                r#"{"id":"c","choices":[]}"#,
                r#"{"id":"c","choices":[{"index":1,"delta":{"role":"assistant","content":""}}]}"#,
                r#"{"id":"c","choices":[{"index":1,"delta":{"content":"Hi"}}]}"#,
                r#"{"id":"c","choices":[{"index":1,"delta":{"content":" you"}}]}"#,
                r#"{"id":"c","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            text("Hi you"),
        ),
        (
            "a name twice",
            r#"{"id":"c","choices":[],"choices":[{"index":0,"message":{"role":"assistant","content":"No","content":"Hi"},"finish_reason":null,"finish_reason":"stop"}]}"#,
            &[
                r#"{"id":"c","id":"c","choices":[{"index":0,"delta":{"role":"assistant","role":"assistant","content":null,"content":"Hi"}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":null,"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            text("Hi"),
        ),
        (
            "two objects as the arguments of one call",
            r#"{"id":"c","choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":0}{\"p\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            &[
                r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":0}{\"p\":1}"}}]}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ],
            calls(&[r#"{"p":0}"#, r#"{"p":1}"#]),
        ),
        (
            "the second begins in the middle of a piece",
            r#"{"id":"c","choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":0}\n{\"p\":1} {\"p\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            &[
                r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":"}}]}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"0}{\"p\""}}]}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ],
            calls(&[r#"{"p":0}"#, r#"{"p":1}"#]),
        ),
        (
            "empty pictures beside a text",
            r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","images":[],"audio":null},"finish_reason":"stop"}]}"#,
            &[
                r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","images":[]}}]}"#,
                r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
            text("Hi"),
        ),
    ];
    for (form, whole, chunks, expected) in table {
        for (at, found) in heard(whole, chunks).into_iter().enumerate() {
            assert_eq!(found.as_ref(), Ok(&expected), "{form}: {at}");
        }
    }
}

/// Without it clients that asked for several answers read one of them twice, and the other never.
#[test]
fn of_several_answers_each_keeps_its_number() {
    let state =
        prepared(crate::chat::asked(Protocol::Chat, json!({}), json!({"stream": true, "n": 2}))).state;
    let lines = [
        r#"{"id":"c","choices":[{"index":1,"delta":{"role":"assistant","content":"b"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#,
        r#"{"id":"c","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ];
    let chunks = relayed(&state, &data(&lines), 1).chunks();
    let read =
        |at: usize| (&chunks[at]["choices"][0]["index"], &chunks[at]["choices"][0]["delta"]["content"]);
    assert_eq!((read(0), read(1)), ((&json!(1), &json!("b")), (&json!(0), &json!("a"))));
}

/// Without it an answer that is a picture is an empty success, which its client pays.
#[test]
fn a_picture_reaches_its_client_or_fails_the_answer() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    for (message, reads_it) in [
        (json!({"role": "assistant", "content": "", "images": [picture]}), true),
        (json!({"role": "assistant", "content": [{"type": "text", "text": "Here"}, picture]}), false),
        (
            json!({"role": "assistant", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA"}}]}),
            false,
        ),
    ] {
        let whole =
            json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]});
        let found = heard(&whole.to_string(), &[&chunk.to_string(), "[DONE]"]);
        for (at, found) in found.into_iter().enumerate() {
            // Clients of chat read what a provider puts beside the text.
            if reads_it && at < 2 {
                assert!(found.is_ok(), "{message}: {found:?}");
                continue;
            }
            let failure = found.expect_err("a failure");
            assert_eq!(failure.obstacle, Obstacle::Upstream, "{message}");
            assert!(failure.message.contains("a picture, a sound or a file"), "{failure:?}");
        }
    }
}

/// Without it a client that reads counts without a sign fails at the answer.
#[test]
fn no_count_that_a_client_reads_is_below_zero() {
    let table = [
        (
            json!({"prompt_tokens": -1, "completion_tokens": 3, "total_tokens": 2}),
            json!({"prompt_tokens": 0, "completion_tokens": 3, "total_tokens": 3}),
        ),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8, "prompt_tokens_details": {"cached_tokens": -1}}),
            json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8, "prompt_tokens_details": {"cached_tokens": 0}}),
        ),
        (json!({"prompt_tokens": -1, "completion_tokens": -1, "total_tokens": -2}), Value::Null),
    ];
    for (usage, expected) in table {
        let message = json!({"role": "assistant", "content": "Hi"});
        let whole =
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage});
        let fields = json!({"stream": true, "stream_options": {"include_usage": true}});
        let state = state(Protocol::Chat, fields);
        let answered = both().answer::<Chat>(&state, &reply(200, &whole.to_string())).expect("an answer");
        let body: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(body["usage"], expected, "{usage}");
        let chunk = json!({"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]}).to_string();
        let counts = json!({"choices": [], "usage": usage}).to_string();
        let chunks = relayed(&state, &data(&[&chunk[..], &counts, "[DONE]"]), 1).chunks();
        assert_eq!(chunks.last().expect("a chunk")["usage"], expected, "{usage}");
    }
}
