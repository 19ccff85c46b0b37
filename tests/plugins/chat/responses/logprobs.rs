//! Log probabilities: asked of a chat provider, translated whole and streamed, refused for a Messages provider.

use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use super::{refused, sent, streamed, whole};
use crate::chat::data;

use Protocol::{Chat as ChatWire, Messages};

const INCLUDE: &str = "message.output_text.logprobs";

/// An entry of a chat completion.
fn of_chat(token: &str) -> Value {
    let judged =
        |token: &str, logprob: f64| json!({"token": token, "logprob": logprob, "bytes": token.as_bytes()});
    let mut entry = judged(token, -0.25);
    entry["top_logprobs"] = json!([judged(token, -0.25), judged("no", -2.5)]);
    entry
}

/// Chunks of these choices, their end and a count.
fn stream(choices: &[Value]) -> Vec<gatehouse_sdk::Sse> {
    let end = json!({"delta": {}, "finish_reason": "stop"});
    let chunk = |choice: &Value| {
        let mut choice = choice.clone();
        choice["index"] = json!(0);
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": [choice]})
            .to_string()
    };
    let mut lines: Vec<String> = choices.iter().chain([&end]).map(chunk).collect();
    lines.push("[DONE]".to_owned());
    data(&lines)
}

fn choice(delta: Value, tokens: &[&str]) -> Value {
    let entries: Vec<Value> = tokens.iter().map(|token| of_chat(token)).collect();
    json!({"delta": delta, "logprobs": {"content": entries, "refusal": null}, "finish_reason": null})
}

/// The text part of the response that ends a stream.
fn part(events: &[Value]) -> Value {
    let output = events.last().expect("events")["response"]["output"].as_array().expect("items").clone();
    let message = output.into_iter().find(|item| item["type"] == "message").expect("a message");
    message["content"][0].clone()
}

#[test]
fn they_are_asked_for_in_the_words_of_the_provider() {
    for (fields, logprobs, top, echoed) in [
        (json!({"include": [INCLUDE]}), json!(true), Value::Null, 0),
        (json!({"include": [INCLUDE], "top_logprobs": 3}), json!(true), json!(3), 3),
        (json!({"top_logprobs": 20}), json!(true), json!(20), 20),
        (json!({"top_logprobs": 0}), Value::Null, Value::Null, 0),
        (json!({"include": ["reasoning.encrypted_content"]}), Value::Null, Value::Null, 0),
    ] {
        let body = sent(ChatWire, fields.clone());
        assert_eq!((&body["logprobs"], &body["top_logprobs"]), (&logprobs, &top), "{fields}");
        let message = json!({"role": "assistant", "content": "hi"});
        let completion = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        assert_eq!(whole(ChatWire, fields, &completion)["top_logprobs"], echoed);
    }
    for (fields, field) in [
        (json!({"include": ["reasoning.encrypted_content", INCLUDE]}), "include[1]"),
        (json!({"top_logprobs": 1}), "top_logprobs"),
    ] {
        let (named, message) = refused(Messages, fields);
        assert_eq!(named, field, "{message}");
        assert!(message.contains("probabilities of tokens are not available from this model"), "{message}");
    }
    sent(Messages, json!({"top_logprobs": 0}));
}

#[test]
fn a_whole_answer_has_them_in_its_part() {
    let fields = json!({"include": [INCLUDE]});
    let completion = |logprobs: Value| {
        let message = json!({"role": "assistant", "content": "hi you"});
        json!({"choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": "stop"}]})
    };
    let given = json!({"content": [of_chat("hi"), of_chat(" you")], "refusal": null});
    let found = whole(ChatWire, fields.clone(), &completion(given));
    assert_eq!(found["output"][0]["content"][0]["logprobs"], json!([of_chat("hi"), of_chat(" you")]));
    // A member that a provider leaves out is there all the same; an entry without a number is left out.
    let given = json!({"content": [{"token": "hi", "logprob": -1, "bytes": null}, {"token": "x"}, 7]});
    let found = whole(ChatWire, fields.clone(), &completion(given));
    let expected = json!([{"token": "hi", "logprob": -1, "bytes": [], "top_logprobs": []}]);
    assert_eq!(found["output"][0]["content"][0]["logprobs"], expected);
    for none in [Value::Null, json!({}), json!({"content": null}), json!({"content": []}), json!([])] {
        let found = whole(ChatWire, fields.clone(), &completion(none));
        assert_eq!(found["output"][0]["content"][0]["logprobs"], json!([]));
    }
}

#[test]
fn a_stream_tells_them_with_their_text_and_ends_in_what_a_whole_answer_is() {
    let chunks = stream(&[
        choice(json!({"role": "assistant", "content": ""}), &[]),
        choice(json!({"content": "hi yo"}), &["hi", " yo"]),
        choice(json!({"content": "u"}), &["u"]),
        // Some servers send the last ones after the text.
        choice(json!({}), &["!"]),
    ]);
    let fields = json!({"include": [INCLUDE], "top_logprobs": 2});
    let events = streamed(ChatWire, fields.clone(), &chunks);
    let told: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .map(|event| (&event["delta"], &event["logprobs"]))
        .collect();
    let (first, second) = (json!([of_chat("hi"), of_chat(" yo")]), json!([of_chat("u")]));
    assert_eq!(told, [(&json!("hi yo"), &first), (&json!("u"), &second)]);
    let all = json!(["hi", " yo", "u", "!"].map(of_chat));
    let done = events.iter().find(|event| event["type"] == "response.output_text.done").expect("an end");
    assert_eq!((&done["logprobs"], &part(&events)["logprobs"]), (&all, &all));

    let message = json!({"role": "assistant", "content": "hi you"});
    let completion = json!({"choices": [
        {"index": 0, "message": message, "logprobs": {"content": all}, "finish_reason": "stop"},
    ]});
    assert_eq!(events.last().expect("events")["response"], whole(ChatWire, fields, &completion));
}

#[test]
fn those_of_thinking_and_of_calls_are_not_the_texts() {
    let call =
        json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let chunks = stream(&[
        choice(json!({"reasoning_content": "hm"}), &["hm"]),
        choice(json!({"content": "a"}), &["a"]),
        choice(json!({"tool_calls": [call]}), &["f"]),
        choice(json!({"content": "b"}), &["b"]),
    ]);
    let fields = json!({"include": [INCLUDE], "tools": [{"type": "function", "name": "f"}]});
    let events = streamed(ChatWire, fields, &chunks);
    let output = &events.last().expect("events")["response"]["output"];
    let of_texts: Vec<&Value> = output
        .as_array()
        .expect("items")
        .iter()
        .filter(|item| item["type"] == "message")
        .map(|item| &item["content"][0]["logprobs"])
        .collect();
    assert_eq!(of_texts, [&json!([of_chat("a")]), &json!([of_chat("b")])], "{output}");
}
