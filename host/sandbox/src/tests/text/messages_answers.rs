//! What the Messages API answers: blocks, thinking that comes back, tools, limits, the cache, the order of a stream.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tests::client::{JSON, START_MS, TestSandbox, fetch};
use crate::tests::text::wire::{
    Event, VERSION, Wire, X_KEY, answer_text, events, question, turns, user, with, words,
};

const WIRE: Wire = Wire::Messages;
const OPUS_4_5: &str = "claude-opus-4-5-20251101";

fn ask(text: &str) -> Value {
    question(WIRE, text, false)
}

fn weather() -> Value {
    json!({
        "name": "get_weather",
        "input_schema": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
    })
}

/// Puts a streamed message together again, checking the order of events on the way.
fn assemble(events: &[Event]) -> Value {
    let mut names = events.iter().map(|event| event.name.as_str());
    assert_eq!(names.next(), Some("message_start"));
    assert_eq!(names.next_back(), Some("message_stop"));
    assert_eq!(names.next_back(), Some("message_delta"));
    let mut message = events[0].json()["message"].clone();
    assert_eq!((&message["content"], &message["stop_reason"]), (&json!([]), &Value::Null));
    let (mut open, mut next, mut pieces) = (None, 0, String::new());
    for event in &events[1..events.len() - 2] {
        let data = event.json();
        assert_eq!(data["type"], json!(event.name), "the type is the event's name");
        match event.name.as_str() {
            "ping" => assert_eq!(data, json!({ "type": "ping" })),
            "content_block_start" => {
                assert_eq!((open, &data["index"]), (None, &json!(next)));
                message["content"].as_array_mut().expect("blocks").push(data["content_block"].clone());
                (open, next, pieces) = (Some(next), next + 1, String::new());
            }
            "content_block_delta" => {
                let at = open.expect("an open block");
                assert_eq!(data["index"], json!(at));
                let (block, delta) = (&mut message["content"][at], &data["delta"]);
                match delta["type"].as_str().expect("a type") {
                    "text_delta" => grow(&mut block["text"], &delta["text"]),
                    "thinking_delta" => grow(&mut block["thinking"], &delta["thinking"]),
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    "input_json_delta" => pieces.push_str(delta["partial_json"].as_str().expect("text")),
                    other => panic!("{other}"),
                }
            }
            "content_block_stop" => {
                let at = open.take().expect("an open block");
                let block = &mut message["content"][at];
                if block["type"] == "tool_use" && !pieces.is_empty() {
                    block["input"] = serde_json::from_str(&pieces).expect("JSON");
                }
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(open, None, "every block is closed");
    let last = events[events.len() - 2].json();
    for (name, value) in last["delta"].as_object().expect("a delta") {
        message[name] = value.clone();
    }
    for (name, value) in last["usage"].as_object().expect("usage") {
        message["usage"][name] = value.clone();
    }
    message
}

fn grow(text: &mut Value, piece: &Value) {
    *text = format!("{}{}", text.as_str().expect("text"), piece.as_str().expect("text")).into();
}

#[tokio::test]
async fn a_stream_has_the_content_of_the_whole_answer() {
    let test = TestSandbox::start().await;
    let tools = json!([weather()]);
    for change in [
        json!({}),
        with(user(json!("go [[tool]]")), &json!({ "tools": tools })),
        with(user(json!("go [[tools:3]]")), &json!({ "tools": tools })),
        json!({ "thinking": { "type": "adaptive" } }),
        json!({ "thinking": { "type": "adaptive", "display": "omitted" } }),
        json!({ "model": "claude-opus-4-7", "thinking": { "type": "adaptive" } }),
        with(user(json!("[[redacted]]")), &json!({ "thinking": { "type": "adaptive" } })),
        json!({ "stop_sequences": ["lighthouse", "tide"] }),
        json!({ "max_tokens": 5 }),
        user(json!("[[no-output]]")),
        user(json!("[[refusal]]")),
    ] {
        let base = with(ask("tell me of the lighthouse and the sea"), &change);
        let (one, two) = (test.ask(WIRE, &base).await, test.ask(WIRE, &base).await);
        let (mut one, mut two) = (one.json(), two.json());
        assert_ne!(one["id"], two["id"]);
        (one["id"], two["id"]) = (json!(1), json!(1));
        assert_eq!(one, two, "the same request, the same answer: {change}");
        // Streamed it is another body, so another answer; of the same shape, and with the bill it reports.
        let reply = test.ask(WIRE, &with(base, &json!({ "stream": true }))).await;
        assert_eq!(reply.header("content-type"), "text/event-stream; charset=utf-8");
        let streamed = assemble(&events(&reply));
        let kinds = |message: &Value| -> Vec<Value> {
            message["content"].as_array().expect("blocks").iter().map(|it| it["type"].clone()).collect()
        };
        assert_eq!(kinds(&streamed), kinds(&one), "{change}");
        assert_eq!(streamed["stop_reason"], one["stop_reason"], "{change}");
        let billed = test.last(WIRE).usage.expect("billed");
        assert_eq!(streamed["usage"]["output_tokens"], json!(billed.output), "{change}");
        assert_eq!(streamed["usage"]["input_tokens"], json!(billed.input), "{change}");
        for name in ["cache_creation_input_tokens", "cache_read_input_tokens"] {
            assert_eq!(streamed["usage"][name], json!(0), "{name}");
        }
    }
}

#[tokio::test]
async fn streams_open_with_a_ping_and_pad_their_lines() {
    let test = TestSandbox::start().await;
    let body = with(
        question(WIRE, "[[tool]]", true),
        &json!({ "tools": [weather()], "tool_choice": { "type": "any" } }),
    );
    let events = events(&test.ask(WIRE, &body).await);
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).take(3).collect();
    assert_eq!(names, ["message_start", "content_block_start", "ping"]);
    assert_eq!(events[1].json()["content_block"]["input"], json!({}));
    assert_eq!(events[3].json()["delta"], json!({ "type": "input_json_delta", "partial_json": "" }));
    assert!(events.iter().any(|event| event.data.ends_with("  }")), "some line is padded");
    assert!(events.iter().any(|event| !event.data.ends_with(" }")), "some line is not");
    assert_eq!(events[0].json()["message"]["usage"]["output_tokens"], 1);
}

#[tokio::test]
async fn tokens_are_words() {
    let test = TestSandbox::start().await;
    let reply = test.ask(WIRE, &with(ask("three words here"), &json!({ "system": "and two" }))).await;
    let body = reply.json();
    assert_eq!(body["usage"]["input_tokens"], 5);
    assert_eq!(body["usage"]["output_tokens"], json!(words(&answer_text(WIRE, &reply))));
    let exact = test.ask(WIRE, &ask("[[words:50]]")).await;
    assert_eq!(
        (words(&answer_text(WIRE, &exact)), &exact.json()["usage"]["output_tokens"]),
        (50, &json!(50))
    );
    let long =
        test.ask(WIRE, &with(question(WIRE, "[[words:5000]]", true), &json!({ "max_tokens": 9000 }))).await;
    assert_eq!(words(&answer_text(WIRE, &long)), 5000);

    let count = with(json!({ "model": "claude-opus-4-6" }), &user(json!("one two")));
    let (path, headers) = ("/v1/messages/count_tokens", [X_KEY, VERSION, JSON]);
    let counted = test.post(WIRE, path, &headers, count.to_string()).await;
    assert_eq!(counted.json(), json!({ "input_tokens": 2 }));
    let refused = with(count, &json!({ "max_tokens": 5 })).to_string();
    let refused = test.post(WIRE, path, &headers, refused).await;
    assert_eq!(refused.message(), "max_tokens: Extra inputs are not permitted");
}

#[tokio::test]
async fn limits_stops_and_prefill() {
    let test = TestSandbox::start().await;
    let stop = async |change: Value| {
        let reply = test.ask(WIRE, &with(ask("see the lighthouse now"), &change)).await;
        let body = reply.json();
        let stop = json!([body["stop_reason"], body["stop_sequence"], body["usage"]["output_tokens"]]);
        (answer_text(WIRE, &reply), stop)
    };
    let stops = json!({ "stop_sequences": ["now", "the light"] });
    for (change, text, expected) in [
        (json!({ "max_tokens": 3 }), "you wrote: see", json!(["max_tokens", null, 3])),
        (stops, "you wrote: see ", json!(["stop_sequence", "the light", 3])),
        (json!({ "max_tokens": 0 }), "", json!(["max_tokens", null, 0])),
    ] {
        assert_eq!(stop(change).await, (text.to_owned(), expected));
    }
    let prefilled = turns(&[("user", json!("go")), ("assistant", json!("I will"))]);
    let (text, _) = stop(with(prefilled, &json!({ "model": OPUS_4_5 }))).await;
    assert!(text.starts_with(" and so it goes on:"), "{text}");
    let three = turns(&[("user", json!("one")), ("assistant", json!("two")), ("user", json!("three"))]);
    let (text, _) = stop(three).await;
    assert!(text.starts_with("you wrote: three (turn 2) "), "{text}");
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let (text, _) =
        stop(json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } })).await;
    assert!(serde_json::from_str::<Value>(&text).expect("JSON")["n"].is_i64());
}

#[tokio::test]
async fn images_are_seen() {
    let test = TestSandbox::start().await;
    let samples = test.sandbox.context().samples.clone();
    let file = fetch(&format!("{samples}/samples/12x7.png")).await;
    let source = json!({ "type": "base64", "media_type": "image/png", "data": STANDARD.encode(&file.body) });
    let content = json!([{ "type": "image", "source": source }, { "type": "text", "text": "what is it" }]);
    let reply = test.ask(WIRE, &with(ask(""), &user(content))).await;
    let text = answer_text(WIRE, &reply);
    assert!(text.starts_with("saw image/png 12x7 you wrote: what is it "), "{text}");
    assert_eq!(reply.json()["usage"]["input_tokens"], 4, "three words, and one for 84 pixels");
}

#[tokio::test]
async fn tools_are_called() {
    let test = TestSandbox::start().await;
    let other = json!({ "name": "now", "input_schema": { "type": "object" } });
    let tools = json!([weather(), other]);
    for (text, choice, expected) in [
        ("hello", json!({ "type": "auto" }), vec![]),
        ("use now", json!({ "type": "auto" }), vec!["now"]),
        ("use now", json!({ "type": "none" }), vec![]),
        ("hello", json!({ "type": "any" }), vec!["get_weather"]),
        ("hello", json!({ "type": "tool", "name": "now" }), vec!["now"]),
        ("[[tool]]", json!({ "type": "auto" }), vec!["get_weather"]),
        ("[[tools:3]]", json!({ "type": "auto" }), vec!["get_weather", "now", "get_weather"]),
        ("[[tools:3]]", json!({ "type": "auto", "disable_parallel_tool_use": true }), vec!["get_weather"]),
    ] {
        let body = with(ask(text), &json!({ "tools": tools, "tool_choice": choice }));
        let answer = test.ask(WIRE, &body).await.json();
        let blocks = answer["content"].as_array().expect("blocks");
        let calls: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "tool_use").collect();
        let names: Vec<&str> = calls.iter().map(|call| call["name"].as_str().expect("a name")).collect();
        assert_eq!(names, expected, "{text} {choice}");
        assert_eq!(answer["stop_reason"], if expected.is_empty() { "end_turn" } else { "tool_use" });
        let fits = |call: &&Value| call["name"] == "now" || call["input"]["city"].is_string();
        assert!(calls.iter().all(fits), "{answer}");
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| call["id"].as_str()).collect();
        assert_eq!(ids.len(), calls.len(), "every call has an id of its own");
        let forced = choice["type"] == "any" || choice["type"] == "tool";
        assert_eq!(blocks[0]["type"] == "text", !forced);
    }
}

/// An agent's program adds reminders to what the user wrote, and asks again after every result.
#[tokio::test]
async fn an_agents_loop_ends() {
    let test = TestSandbox::start().await;
    let reminder = json!("<system-reminder>use now, all the time</system-reminder>");
    let question = json!([{ "type": "text", "text": "the weather?" }, { "type": "text", "text": reminder }]);
    let asked = json!({ "tools": [weather(), { "name": "now", "input_schema": { "type": "object" } }] });
    let first = turns(&[("user", question.clone()), ("user", reminder.clone())]);
    let answer = test.ask(WIRE, &with(with(ask(""), &first), &asked)).await.json();
    let call = &answer["content"][1];
    assert_eq!(call["name"], "get_weather", "the user's own words decide: {answer}");
    let result = json!([{ "type": "tool_result", "tool_use_id": call["id"], "content": "rain" }]);
    let loop_of =
        [("user", question), ("assistant", answer["content"].clone()), ("user", result), ("user", reminder)];
    let body = with(with(ask(""), &turns(&loop_of)), &asked);
    let reply = test.ask(WIRE, &body).await;
    assert_eq!(reply.json()["stop_reason"], "end_turn");
    assert!(answer_text(WIRE, &reply).starts_with("the tool said: rain"), "{}", reply.text());
    // A model that is forced each time calls a tool that it has not called yet: frameworks end with a tool of their own.
    let forced = test.ask(WIRE, &with(body, &json!({ "tool_choice": { "type": "any" } }))).await.json();
    assert_eq!((&forced["stop_reason"], &forced["content"][0]["name"]), (&json!("tool_use"), &json!("now")));
}

#[tokio::test]
async fn returned_thinking_is_verified() {
    let test = TestSandbox::start().await;
    let enabled = json!({ "type": "enabled", "budget_tokens": 1024 });
    let first = with(
        ask("go [[tool]] [[redacted]]"),
        &json!({ "model": OPUS_4_5, "max_tokens": 3000, "thinking": enabled, "tools": [weather()] }),
    );
    let answer = test.ask(WIRE, &first).await.json();
    let blocks = answer["content"].as_array().expect("blocks").clone();
    let kinds: Vec<&str> = blocks.iter().map(|it| it["type"].as_str().expect("a type")).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
    let thought = words(blocks[0]["thinking"].as_str().expect("thinking"));
    assert_eq!(answer["usage"]["output_tokens_details"]["thinking_tokens"], json!(thought + 1));
    let back = async |model: &str, thinking: &Value, blocks: Vec<Value>| {
        let id = blocks.iter().find_map(|it| it["id"].as_str()).expect("a call").to_owned();
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": "sunny and warm" }]);
        let turns = turns(&[("user", json!("go")), ("assistant", json!(blocks)), ("user", result)]);
        let change = with(turns, &json!({ "model": model, "thinking": thinking }));
        let reply = test.ask(WIRE, &with(first.clone(), &change)).await;
        let text = if reply.status == 200 { answer_text(WIRE, &reply) } else { reply.message() };
        (reply.status, text)
    };
    let (status, text) = back(OPUS_4_5, &enabled, blocks.clone()).await;
    assert!(status == 200 && text.starts_with("the tool said: sunny and warm"), "{status} {text}");

    let [thinking, redacted, text, call] = &blocks[..] else { panic!("four blocks") };
    let altered = |block: &Value, name: &str, value: &str| with(block.clone(), &json!({ name: value }));
    let off = json!({ "type": "disabled" });
    let list = |blocks: &[&Value]| blocks.iter().map(|it| (*it).clone()).collect::<Vec<_>>();
    #[rustfmt::skip]
    let table = [
        (OPUS_4_5, &enabled, list(&[&altered(thinking, "thinking", "other"), redacted, call]),
         "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (OPUS_4_5, &enabled, list(&[&altered(thinking, "signature", "c2ln"), redacted, call]),
         "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (OPUS_4_5, &off, list(&[&altered(thinking, "signature", ""), call]),
         "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (OPUS_4_5, &enabled, list(&[thinking, &altered(redacted, "data", "c2ln"), call]),
         "messages.1.content.1: Invalid `data` in `redacted_thinking` block"),
        (OPUS_4_5, &enabled, list(&[redacted, thinking, call]),
         "messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
        (OPUS_4_5, &enabled, list(&[text, thinking, redacted, call]),
         "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."),
        (OPUS_4_5, &enabled, list(&[text, call]),
         "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled,"),
        (OPUS_4_5, &enabled, list(&[call]),
         "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When"),
        ("claude-opus-4-6", &enabled, list(&[thinking, redacted, call]),
         "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ];
    for (model, thinking, blocks, start) in table {
        let (status, text) = back(model, thinking, blocks).await;
        assert!(status == 400 && text.starts_with(start), "{status} {text}\n  not {start}");
    }
    for (model, thinking, blocks) in [
        (OPUS_4_5, &off, list(&[text, call])),
        ("claude-opus-4-6", &json!({ "type": "adaptive" }), list(&[call])),
    ] {
        assert_eq!(back(model, thinking, blocks).await.0, 200, "{model}");
    }
}

#[tokio::test]
async fn models_show_or_hide_thinking() {
    let test = TestSandbox::start().await;
    for (model, thinking, shown) in [
        ("claude-opus-4-6", json!({ "type": "adaptive" }), true),
        ("claude-opus-4-6", json!({ "type": "adaptive", "display": "omitted" }), false),
        ("claude-opus-4-7", json!({ "type": "adaptive" }), false),
        ("claude-opus-4-8", json!({ "type": "adaptive" }), false),
        ("claude-opus-4-8", json!({ "type": "adaptive", "display": "summarized" }), true),
    ] {
        let body = with(ask("hi"), &json!({ "model": model, "thinking": thinking }));
        let answer = test.ask(WIRE, &body).await.json();
        let block = &answer["content"][0];
        assert_eq!(block["thinking"] != "", shown, "{model} {thinking}");
        assert!(answer["usage"]["output_tokens_details"]["thinking_tokens"].as_u64() > Some(0));
        let turns =
            turns(&[("user", json!("hi")), ("assistant", answer["content"].clone()), ("user", json!("on"))]);
        let reply = test.ask(WIRE, &with(body, &turns)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
}

#[tokio::test]
async fn prompts_are_cached() {
    let test =
        TestSandbox::with(|settings| settings.keys = vec!["sandbox-key".into(), "second-key".into()]).await;
    let hour = json!({ "type": "ephemeral", "ttl": "1h" });
    let system = json!([{ "type": "text", "text": "one two three", "cache_control": hour }]);
    let content = json!([{ "type": "text", "text": "four five", "cache_control": { "type": "ephemeral" } }, { "type": "text", "text": "six" }]);
    let body = with(with(ask(""), &user(content)), &json!({ "system": system }));
    let usage = async |body: &Value| {
        let answer = test.ask(WIRE, body).await.json()["usage"].clone();
        let billed = test.last(WIRE).usage.expect("billed");
        assert_eq!(answer["cache_creation"]["ephemeral_5m_input_tokens"], json!(billed.cache_write_5m));
        assert_eq!(answer["cache_creation"]["ephemeral_1h_input_tokens"], json!(billed.cache_write_1h));
        assert_eq!(answer["cache_read_input_tokens"], json!(billed.cache_read));
        (billed.input, billed.cache_read, billed.cache_write_5m, billed.cache_write_1h)
    };
    assert_eq!(usage(&body).await, (1, 0, 2, 3));
    assert_eq!(usage(&body).await, (1, 5, 0, 0));
    let other = with(body.clone(), &user(json!("seven")));
    assert_eq!(usage(&other).await, (1, 3, 0, 0), "the system alone is the same");
    test.advance(Duration::from_millis(300_001));
    assert_eq!(usage(&body).await, (1, 3, 2, 0), "five minutes are over, the hour is not");
    let other = with(body.clone(), &json!({ "model": OPUS_4_5 }));
    assert_eq!(usage(&other).await, (1, 0, 2, 3), "every model has its own");
    let headers = [("x-api-key", "second-key"), VERSION, JSON];
    test.post(WIRE, "/v1/messages", &headers, body.to_string()).await;
    assert_eq!(test.last(WIRE).usage.map(|usage| usage.cache_read), Some(0), "and every account");
    let whole = with(ask("eight nine"), &json!({ "cache_control": { "type": "ephemeral" } }));
    assert_eq!(usage(&whole).await, (0, 0, 2, 0));
    assert_eq!(usage(&whole).await, (0, 2, 0, 0));
}

#[tokio::test]
async fn every_reply_carries_the_providers_headers() {
    let test = TestSandbox::start().await;
    let good = test.ask(WIRE, &ask("hi")).await;
    let bad = test.ask(WIRE, &json!({})).await;
    let limited = test.ask(WIRE, &ask("[[429]]")).await;
    for reply in [&good, &bad, &limited] {
        assert!(reply.header("request-id").starts_with("req_011"));
        assert!(!reply.header("anthropic-organization-id").is_empty());
        assert!(reply.header("set-cookie").starts_with("_cfuvid="));
        for kind in ["requests", "tokens", "input-tokens", "output-tokens"] {
            for what in ["limit", "remaining"] {
                let name = format!("anthropic-ratelimit-{kind}-{what}");
                assert!(reply.header(&name).parse::<u32>().is_ok(), "{name}");
            }
            assert_eq!(reply.header(&format!("anthropic-ratelimit-{kind}-reset")), "2026-01-01T00:01:00Z");
        }
    }
    assert_eq!((limited.status, limited.header("retry-after")), (429, "1"));
    assert_eq!(test.last(WIRE).at, START_MS);
}
