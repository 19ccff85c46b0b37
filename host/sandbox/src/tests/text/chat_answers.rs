//! What the chat completions answer: choices, tools, formats, limits, and the order of a stream.

use std::time::Duration;

use serde_json::{Value, json};

use crate::tests::client::{Response, TestSandbox};
use crate::tests::text::wire::{Wire, answer_text, bodies, events, question, turns, user, with, words};

const WIRE: Wire = Wire::Chat;

fn ask(text: &str) -> Value {
    question(WIRE, text, false)
}

fn tools() -> Value {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!([
        { "type": "function", "function": { "name": "get_weather", "parameters": parameters } },
        { "type": "function", "function": { "name": "now" } },
    ])
}

/// The chunks of a stream, which ends with `[DONE]`.
fn chunks(reply: &Response) -> Vec<Value> {
    let events = events(reply);
    assert_eq!(events.last().map(|event| event.data.as_str()), Some("[DONE]"));
    assert!(events.iter().all(|event| event.name.is_empty()));
    let chunks = bodies(reply);
    assert_eq!(chunks.len() + 1, events.len(), "[DONE] comes once");
    chunks
}

/// Arguments of every call, put together by index; each has its id, type and name once, at first.
fn calls(chunks: &[Value]) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for call in chunks.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0")) {
        let at = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
        let piece = call["function"]["arguments"].as_str().expect("a piece");
        if at == calls.len() {
            assert!(
                call["id"].as_str().is_some_and(|id| id.starts_with("call_")) && call["type"] == "function"
            );
            calls.push((call["function"]["name"].as_str().expect("a name").to_owned(), String::new()));
            assert_eq!(piece, "");
        } else {
            assert!(call.get("id").is_none() && call["function"].get("name").is_none(), "{call}");
        }
        calls[at].1.push_str(piece);
    }
    calls
}

#[tokio::test]
async fn a_stream_begins_with_a_role_and_ends_with_done() {
    let test = TestSandbox::start().await;
    let plain = test.ask(WIRE, &question(WIRE, "hello there", true)).await;
    assert_eq!(plain.header("content-type"), "text/event-stream; charset=utf-8");
    let parts = chunks(&plain);
    let first = &parts[0]["choices"][0]["delta"];
    assert_eq!(*first, json!({ "role": "assistant", "content": "", "refusal": null }));
    let last = &parts.last().expect("chunks")["choices"][0];
    assert_eq!((&last["delta"], &last["finish_reason"]), (&json!({}), &json!("stop")));
    assert!(parts.iter().all(|chunk| chunk.get("usage").is_none()), "no usage unless asked for");
    for name in ["id", "created", "model", "object"] {
        assert!(parts.iter().all(|chunk| chunk[name] == parts[0][name]), "{name}");
    }
    assert_eq!(parts[0]["object"], "chat.completion.chunk");

    let options = json!({ "stream_options": { "include_usage": true } });
    let counted = test.ask(WIRE, &with(question(WIRE, "hello there", true), &options)).await;
    let parts = chunks(&counted);
    let (totals, rest) = parts.split_last().expect("chunks");
    assert!(rest.iter().all(|chunk| chunk["usage"].is_null() && chunk.get("usage").is_some()));
    assert_eq!(totals["choices"], json!([]));
    let billed = test.last(WIRE).usage.expect("billed");
    assert_eq!((&totals["usage"]["prompt_tokens"], billed.input), (&json!(2), 2));
    assert_eq!(totals["usage"]["completion_tokens"], json!(words(&answer_text(WIRE, &counted))));
    assert_eq!(totals["usage"]["total_tokens"], json!(2 + billed.output));
}

#[tokio::test]
async fn the_same_request_has_the_same_answer() {
    let test = TestSandbox::start().await;
    let (one, two) = (test.ask(WIRE, &ask("hello")).await.json(), test.ask(WIRE, &ask("hello")).await.json());
    assert_eq!((&one["choices"], &one["usage"]), (&two["choices"], &two["usage"]));
    assert_ne!(one["id"], two["id"]);
    assert_eq!((&one["object"], &one["model"]), (&json!("chat.completion"), &json!("gpt-sim")));
    assert_ne!(one["choices"], test.ask(WIRE, &ask("farewell")).await.json()["choices"]);
}

#[tokio::test]
async fn limits_and_stops() {
    let test = TestSandbox::start().await;
    for (change, text, finish) in [
        (json!({ "max_tokens": 3 }), "you wrote: see", "length"),
        (json!({ "max_completion_tokens": 2 }), "you wrote:", "length"),
        (json!({ "stop": "light" }), "you wrote: see the ", "stop"),
        (json!({ "stop": ["now", " the"] }), "you wrote: see", "stop"),
    ] {
        let reply = test.ask(WIRE, &with(ask("see the lighthouse now"), &change)).await;
        assert_eq!(answer_text(WIRE, &reply), text, "{change}");
        assert_eq!(reply.json()["choices"][0]["finish_reason"], finish, "{change}");
        assert_eq!(reply.json()["usage"]["completion_tokens"], json!(words(text)));
    }
    let several = test.ask(WIRE, &with(ask("hi"), &json!({ "n": 3 }))).await.json();
    let choices = several["choices"].as_array().expect("choices");
    let texts: std::collections::HashSet<_> =
        choices.iter().map(|it| it["message"]["content"].as_str().expect("text")).collect();
    assert_eq!((choices.len(), texts.len()), (3, 3));
    let total: u64 = texts.iter().map(|text| words(text)).sum();
    assert_eq!(several["usage"]["completion_tokens"], json!(total));
}

#[tokio::test]
async fn tools_are_called() {
    let test = TestSandbox::start().await;
    let named = json!({ "type": "function", "function": { "name": "now" } });
    for (text, change, expected) in [
        ("hello", json!({}), vec![]),
        ("what is it now", json!({}), vec!["now"]),
        ("[[tool]]", json!({ "tool_choice": "none" }), vec![]),
        ("hello", json!({ "tool_choice": "required" }), vec!["get_weather"]),
        ("hello", json!({ "tool_choice": named }), vec!["now"]),
        ("[[tools:3]]", json!({}), vec!["get_weather", "now", "get_weather"]),
        ("[[tools:3]]", json!({ "parallel_tool_calls": false }), vec!["get_weather"]),
    ] {
        let body = with(with(ask(text), &json!({ "tools": tools() })), &change);
        let answer = test.ask(WIRE, &body).await.json();
        let choice = &answer["choices"][0];
        let whole = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
        let names: Vec<&str> =
            whole.iter().map(|it| it["function"]["name"].as_str().expect("a name")).collect();
        assert_eq!(names, expected, "{text} {change}");
        assert_eq!(choice["finish_reason"], if expected.is_empty() { "stop" } else { "tool_calls" });
        assert_eq!(choice["message"]["content"].is_null(), !expected.is_empty());
        let streamed = test.ask(WIRE, &with(body, &json!({ "stream": true }))).await;
        let streamed = calls(&chunks(&streamed));
        assert_eq!(streamed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
        for (name, arguments) in streamed {
            let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
            assert_eq!(arguments["city"].is_string(), name == "get_weather", "{arguments}");
        }
    }
    let call = json!({ "id": "a", "type": "function", "function": { "name": "now", "arguments": "{}" } });
    let messages = json!([
        { "role": "user", "content": "what is it [[tool]]" },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "a", "content": "noon" },
    ]);
    // After a result comes an answer; where a call is asked for each time, one of what has not been called.
    let asked = json!({ "messages": messages, "tools": tools() });
    let reply = test.ask(WIRE, &with(ask(""), &asked)).await;
    assert!(answer_text(WIRE, &reply).starts_with("the tool said: noon "), "{}", reply.text());
    let forced = with(with(ask(""), &asked), &json!({ "tool_choice": "required" }));
    let answer = test.ask(WIRE, &forced).await.json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "get_weather");
    let reminded = "<system-reminder>now</system-reminder>what is the weather?";
    let answer = test.ask(WIRE, &with(ask(reminded), &json!({ "tools": tools() }))).await.json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "get_weather");
}

#[tokio::test]
async fn formats() {
    let test = TestSandbox::start().await;
    let format = json!({ "type": "json_object" });
    let reply = test.ask(WIRE, &with(ask("some json please"), &json!({ "response_format": format }))).await;
    assert!(serde_json::from_str::<Value>(&answer_text(WIRE, &reply)).expect("JSON").is_object());
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 7, "maximum": 7 } } });
    let format =
        json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema, "strict": true } });
    let reply = test.ask(WIRE, &with(ask("go"), &json!({ "response_format": format }))).await;
    assert_eq!(serde_json::from_str::<Value>(&answer_text(WIRE, &reply)).expect("JSON"), json!({ "n": 7 }));
}

#[tokio::test]
async fn reasoning_is_billed_and_not_shown() {
    let test = TestSandbox::start().await;
    let body = with(ask("hi"), &json!({ "model": "gpt-sim-reasoning" }));
    let reply = test.ask(WIRE, &body).await;
    let answer = reply.json();
    let thought =
        answer["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64().expect("a number");
    assert!(thought > 0 && answer["choices"][0]["message"].get("reasoning_content").is_none());
    assert_eq!(answer["usage"]["completion_tokens"], json!(thought + words(&answer_text(WIRE, &reply))));
    let none = test.ask(WIRE, &with(body.clone(), &json!({ "reasoning_effort": "none" }))).await.json();
    assert_eq!(none["usage"]["completion_tokens_details"]["reasoning_tokens"], 0);
    let short = test.ask(WIRE, &with(body, &json!({ "max_completion_tokens": 2 }))).await.json();
    assert_eq!(
        (&short["choices"][0]["finish_reason"], &short["choices"][0]["message"]["content"]),
        (&json!("length"), &json!(""))
    );
}

#[tokio::test]
async fn the_clone_model_has_its_own_format() {
    let test = TestSandbox::start().await;
    let clone =
        json!({ "model": "clone-sim", "tools": tools(), "stream_options": { "include_usage": true } });
    let parts = chunks(&test.ask(WIRE, &with(question(WIRE, "[[tool]] now", true), &clone)).await);
    let deltas: Vec<&Value> = parts.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    let has = |name: &str| deltas.iter().any(|delta| !delta[name].is_null() && delta[name] != "");
    assert!(has("reasoning_content") && has("content") && has("tool_calls"));
    let last = parts.last().expect("chunks");
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    assert!(last["usage"]["total_tokens"].is_u64(), "usage rides on the last chunk of the choice: {last}");
    let whole = test.ask(WIRE, &with(ask("hi"), &json!({ "model": "clone-sim" }))).await.json();
    assert!(whole["choices"][0]["message"]["reasoning_content"].is_string());
}

#[tokio::test]
async fn long_prompts_are_cached() {
    let test = TestSandbox::start().await;
    let long = |text: &str| turns(&[("system", json!("word ".repeat(1100))), ("user", json!(text))]);
    let cached = async |text: &str| {
        let answer = test.ask(WIRE, &with(ask(""), &long(text))).await.json();
        assert_eq!(answer["usage"]["prompt_tokens"], 1101, "cached tokens are part of the prompt's");
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a number")
    };
    assert_eq!(cached("one").await, 0);
    assert_eq!(cached("one").await, 1024);
    assert_eq!(cached("two").await, 1024, "what comes before is the same");
    assert_eq!(test.last(WIRE).usage.map(|usage| (usage.input, usage.cache_read)), Some((77, 1024)));
    test.advance(Duration::from_millis(300_001));
    assert_eq!(cached("one").await, 0);
}

#[tokio::test]
async fn images_are_seen_and_headers_are_the_providers() {
    let test = TestSandbox::start().await;
    let url = "data:image/gif;base64,R0lGODlhLAHIAAAAADs=";
    let content = json!([{ "type": "text", "text": "look" }, { "type": "image_url", "image_url": { "url": url, "detail": "low" } }]);
    let reply = test.ask(WIRE, &with(ask(""), &user(content))).await;
    let text = answer_text(WIRE, &reply);
    assert!(text.starts_with("saw image/gif 300x200 you wrote: look"), "{text}");
    assert_eq!(reply.json()["usage"]["prompt_tokens"], 81);
    for (name, value) in [
        ("openai-organization", "org-sandbox"),
        ("openai-version", "2020-10-01"),
        ("x-ratelimit-reset-requests", "6ms"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ] {
        assert_eq!(reply.header(name), value);
    }
    assert_eq!(reply.headers.get_all("set-cookie").iter().count(), 2);
}

/// The entries of a choice's text, whole or in a chunk.
fn entries(choice: &Value, field: &str) -> Vec<Value> {
    choice["logprobs"][field].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn log_probabilities_are_of_the_tokens_of_the_text() {
    let test = TestSandbox::start().await;
    let asked = json!({ "logprobs": true, "top_logprobs": 3 });
    for (question_text, field, other) in
        [("hello there", "content", "refusal"), ("[[refusal]] hello", "refusal", "content")]
    {
        let whole = test.ask(WIRE, &with(ask(question_text), &asked)).await.json();
        let choice = &whole["choices"][0];
        assert_eq!(choice["logprobs"][other], Value::Null, "{choice}");
        let tokens: String =
            entries(choice, field).iter().filter_map(|entry| entry["token"].as_str()).collect();
        assert_eq!(choice["message"][field], tokens, "{choice}");
        assert!(entries(choice, field).iter().all(|entry| {
            entry["top_logprobs"]
                .as_array()
                .is_some_and(|top| top.len() == 3 && top[0]["token"] == entry["token"])
        }));

        let streamed = test.ask(WIRE, &with(question(WIRE, question_text, true), &asked)).await;
        for chunk in chunks(&streamed) {
            let choice = &chunk["choices"][0];
            let tokens: String =
                entries(choice, field).iter().filter_map(|entry| entry["token"].as_str()).collect();
            assert_eq!(choice["delta"][field].as_str().unwrap_or_default(), tokens, "{chunk}");
        }
    }
    let plain = test.ask(WIRE, &with(ask("hello"), &json!({ "logprobs": false }))).await.json();
    assert_eq!(plain["choices"][0]["logprobs"], Value::Null);
}
