//! Providers that answer in another form than they were asked for: a stream for one body, a list for a stream, words between
//! events, the name of a call in pieces. The client has the whole answer all the same, on every surface.

use std::sync::{Arc, Mutex};

use gatehouse_harness::{Caller, Gateway, Provider, Response, reply, run};
use serde_json::{Value, json};

use crate::gateways::over;
use crate::text::scene::{SURFACES, chunk, request_on};

const PROTOCOLS: [&str; 3] = ["chat", "messages", "generatecontent"];
const EVENTS: &str = "text/event-stream";

/// What the provider says next: its media type and body.
type Says = Arc<Mutex<(&'static str, String)>>;

/// A gateway over a provider with a model of each protocol.
async fn scene() -> (Gateway, Caller, Says) {
    let says = Says::default();
    let script = Arc::clone(&says);
    let provider = Provider::start(move |_| {
        let (kind, body) = script.lock().expect("a lock").clone();
        reply(200, &[("content-type", kind)], body)
    })
    .await;
    let (gateway, caller) = over(&provider, &["only"], &PROTOCOLS).await;
    (gateway, caller, says)
}

/// The events of a stream that says "Hello".
fn hello(protocol: &str) -> Vec<Value> {
    let text = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let frame = |text: &str, reason: Option<&str>| {
        json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": reason}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}})
    };
    match protocol {
        "chat" => vec![
            chunk(&json!({"role": "assistant", "content": "Hel"}), None),
            chunk(&json!({"content": "lo"}), None),
            chunk(&json!({}), Some("stop")),
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
        ],
        "messages" => vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
                "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            text("Hel"),
            text("lo"),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ],
        _ => vec![frame("Hel", None), frame("lo", Some("STOP"))],
    }
}

fn events(all: &[Value], end: &str) -> String {
    all.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + end
}

async fn ask(caller: &Caller, surface: &str, model: &str, streaming: bool) -> Response {
    let body = request_on(surface, model, "hi", streaming);
    caller.post_with(&[("x-response-format", "bare")], surface, &body).await
}

/// The data of a stream's events, or the one body.
fn data(text: &str) -> Vec<Value> {
    let lines: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    if lines.is_empty() { vec![serde_json::from_str(text).expect("JSON")] } else { lines }
}

/// What an answer says, in each of its forms.
fn said(text: &str) -> String {
    let places = |event: &Value| {
        let is_delta = event["type"] == "response.output_text.delta";
        let of_response =
            if event["type"].is_null() { &event["output"][0]["content"][0]["text"] } else { &Value::Null };
        [
            event["choices"][0]["delta"]["content"].clone(),
            event["choices"][0]["message"]["content"].clone(),
            event["delta"]["text"].clone(),
            event["content"][0]["text"].clone(),
            of_response.clone(),
            if is_delta { event["delta"].clone() } else { Value::Null },
        ]
    };
    data(text).iter().flat_map(places).filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The calls of a stream: each with its name.
fn called(text: &str) -> Vec<String> {
    let name = |event: &Value| {
        let places = [
            &event["choices"][0]["delta"]["tool_calls"][0]["function"]["name"],
            &event["content_block"]["name"],
            if event["type"] == "response.output_item.done" { &event["item"]["name"] } else { &Value::Null },
        ];
        places.into_iter().find_map(|name| name.as_str().map(str::to_owned))
    };
    data(text).iter().filter_map(name).collect()
}

/// Without it the answer of a server that always streams, or that streams a list, is lost, and so is one with a word between its
/// events.
#[test]
fn an_answer_in_another_form_is_the_same_answer() {
    run(async {
        let (gateway, caller, says) = scene().await;
        for protocol in PROTOCOLS {
            let all = hello(protocol);
            let list = Value::Array(all.clone());
            let stream = events(&all, "data: [DONE]\n\n");
            let between = |words: &str| {
                format!("{words}\n\n{}{words}\n\n{}", events(&all[..1], ""), events(&all[1..], ""))
            };
            for (kind, body, is_whole) in [
                (EVENTS, stream.clone(), true),
                ("application/json", stream.clone(), true),
                ("application/json", list.to_string(), true),
                (EVENTS, list.to_string(), true),
                (EVENTS, between("data: some words"), false),
                (EVENTS, between("data: [PING]"), true),
                (EVENTS, between("data: 5"), false),
                (EVENTS, between("event: ping\ndata: x"), false),
            ] {
                *says.lock().expect("a lock") = (kind, body.clone());
                for surface in SURFACES {
                    for streaming in [false, true] {
                        // A dialect's one body is its own, unless it is labelled as events.
                        let is_own = protocol == "generatecontent" && kind != EVENTS && body == stream;
                        if !streaming && (!is_whole || is_own) {
                            continue;
                        }
                        let answer = ask(&caller, surface, protocol, streaming).await;
                        let text = answer.text();
                        let of = format!("{surface} {protocol} {streaming} {kind} {body}: {text}");
                        assert_eq!(answer.status, 200, "{of}");
                        assert_eq!(said(&text), "Hello", "{of}");
                    }
                }
            }
            // What broke off, or failed, is no answer.
            for body in [events(&all[..2], ""), events(&all[..1], "data: Internal Server Error\n\n")] {
                *says.lock().expect("a lock") = (EVENTS, body.clone());
                for surface in SURFACES {
                    let answer = ask(&caller, surface, protocol, false).await;
                    let is_complete = protocol == "generatecontent" && !body.contains("Error");
                    let expected = if is_complete { 200 } else { 502 };
                    assert_eq!(answer.status, expected, "{surface} {protocol} {body}: {}", answer.text());
                }
            }
        }
        gateway.expect_sound_ledger().await;
    });
}

/// Without it a client is told to run tools that it does not have.
#[test]
fn the_name_of_a_call_may_come_in_pieces() {
    run(async {
        let (gateway, caller, says) = scene().await;
        let call = |more: Value| chunk(&json!({"tool_calls": [more]}), None);
        let named = |name: &str| call(json!({"index": 0, "function": {"name": name}}));
        let begun = call(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "get_"}}));
        let whole =
            call(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "get_weather"}}));
        let arguments = call(json!({"index": 0, "function": {"arguments": "{\"p\":1}"}}));
        for pieces in [
            vec![begun.clone(), named("weather"), arguments.clone()],
            vec![begun, named("get_weather"), arguments.clone()],
            vec![whole.clone(), named("get_weather"), arguments.clone()],
            vec![whole, named(""), arguments],
        ] {
            let end = [chunk(&json!({}), Some("tool_calls"))];
            *says.lock().expect("a lock") =
                (EVENTS, events(&[&pieces[..], &end].concat(), "data: [DONE]\n\n"));
            for surface in SURFACES {
                let answer = ask(&caller, surface, "chat", true).await;
                let text = answer.text();
                assert_eq!(answer.status, 200, "{surface} {pieces:?}: {text}");
                assert_eq!(called(&text), ["get_weather"], "{surface} {pieces:?}: {text}");
            }
        }
        gateway.expect_sound_ledger().await;
    });
}
