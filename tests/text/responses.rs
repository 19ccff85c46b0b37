//! `POST /v1/responses` over providers of both protocols: the events in their order, the same words and the same price as
//! a chat completion, conversations that go on from a kept response, and who may read one.

use base64::Engine as _;
use gatehouse_harness::{Caller, run, send_to, with};
use serde_json::{Value, json};

use crate::text::scene::{Scene, Wire, request};

pub(crate) const BOTH: [Wire; 2] = [Wire::Chat, Wire::Messages];

/// A request of that caller; the status and the body.
pub(crate) async fn ask(caller: &Caller, method: &str, path: &str, body: &str) -> (u16, String) {
    let answer = caller.send(method, path, &[("content-type", "application/json")], body.to_owned()).await;
    (answer.status, answer.text())
}

/// A response of the main caller, as text.
pub(crate) async fn create(scene: &Scene, body: &Value) -> (u16, String) {
    ask(&scene.caller, "POST", "/v1/responses", &body.to_string()).await
}

pub(crate) async fn whole(scene: &Scene, body: &Value) -> Value {
    let (status, text) = create(scene, body).await;
    assert_eq!(status, 200, "{body}: {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// The data of every event, its name and number checked.
pub(crate) fn events(text: &str) -> Vec<Value> {
    let frames = text.strip_suffix("\n\n").expect("a blank line after the last frame").split("\n\n");
    let frames = frames.filter(|frame| !frame.starts_with(':'));
    let events: Vec<Value> = frames
        .map(|frame| {
            let (name, data) = frame.split_once("\ndata: ").expect("an event and its data");
            let data: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{data}: {error}"));
            assert_eq!(data["type"], name.trim_start_matches("event: "), "{frame}");
            data
        })
        .collect();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number), "{event}");
    }
    events
}

pub(crate) fn words(response: &Value) -> String {
    let parts = response["output"].as_array().expect("items").iter().filter(|item| item["type"] == "message");
    parts.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

pub(crate) fn model(provider: Wire) -> Value {
    provider.model().into()
}

/// What differs from one run to the next, in place of it a name.
fn settled(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members.iter_mut() {
                    match (name.as_str(), &*value) {
                        ("id" | "item_id", Value::String(id)) => {
                            let kind = id.split('_').next().unwrap_or_default();
                            *value = format!("<{kind}>").into();
                        }
                        ("created_at" | "completed_at", Value::Number(_)) => *value = "<seconds>".into(),
                        _ => walk(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

#[test]
fn a_response_costs_and_says_what_a_chat_completion_does() {
    run(async {
        let scene = Scene::start("").await;
        for provider in BOTH {
            let text = "[[words:9]]the keeper of the lighthouse counts ships";
            let mut bills = Vec::new();
            let mut said = Vec::new();
            for streaming in [false, true] {
                let before = scene.spent().await;
                let answer = scene.send(Wire::Chat, &request(provider, text, streaming)).await.end().await;
                said.push(if streaming { answer.streamed_text() } else { answer.whole_text() });
                bills.push(scene.spent().await - before);

                let before = scene.spent().await;
                let asked = json!({"model": model(provider), "input": text, "max_output_tokens": 500, "stream": streaming});
                let (status, text) = create(&scene, &asked).await;
                assert_eq!(status, 200, "{text}");
                let response = match streaming {
                    true => events(&text).pop().expect("events")["response"].clone(),
                    false => serde_json::from_str(&text).expect("JSON"),
                };
                assert_eq!(response["status"], "completed", "{response}");
                assert_eq!(response["usage"]["output_tokens"], 9, "{response}");
                said.push(words(&response));
                bills.push(scene.spent().await - before);
            }
            assert!(bills[0] > 0 && bills.iter().all(|bill| *bill == bills[0]), "{provider:?}: {bills:?}");
            assert!(said.iter().all(|text| *text == said[0]), "{provider:?}: {said:?}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A transcript of a whole stream, to the byte but for what each run makes anew.
#[test]
fn the_events_of_a_text() {
    run(async {
        let scene = Scene::start("").await;
        for provider in BOTH {
            let asked = json!({"model": model(provider), "input": "[[words:1]]a", "stream": true, "metadata": {"a": "b"}, "instructions": "x"});
            let (_, text) = create(&scene, &asked).await;
            let found: Vec<Value> = events(&text).into_iter().map(settled).collect();
            let word = words(&found.last().expect("events")["response"]);
            let usage = found.last().expect("events")["response"]["usage"].clone();
            let response = |status: &str, output: &Value, usage: &Value| {
                let completed_at = (status == "completed").then_some("<seconds>");
                json!({
                    "id": "<resp>", "object": "response", "created_at": "<seconds>", "status": status, "background": false,
                    "completed_at": completed_at, "error": null, "incomplete_details": null, "model": model(provider), "output": output,
                    "usage": usage, "instructions": "x", "max_output_tokens": null, "max_tool_calls": null, "metadata": {"a": "b"},
                    "parallel_tool_calls": true, "previous_response_id": null, "prompt_cache_key": null,
                    "reasoning": {"effort": null, "summary": null}, "safety_identifier": null, "service_tier": "default",
                    "store": true, "temperature": 1, "text": {"format": {"type": "text"}, "verbosity": "medium"},
                    "tool_choice": "auto", "tools": [], "top_logprobs": 0, "top_p": 1, "truncation": "disabled", "user": null,
                    "frequency_penalty": 0, "presence_penalty": 0,
                })
            };
            let part =
                |text: &str| json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
            let item = |status: &str, content: Value| json!({"id": "<msg>", "type": "message", "status": status, "content": content, "role": "assistant"});
            let done = item("completed", json!([part(&word)]));
            let of_item = |kind: &str, more: Value| {
                with(json!({"type": kind, "item_id": "<msg>", "output_index": 0, "content_index": 0}), more)
            };
            let none = json!([]);
            let mut expected = vec![
                json!({"type": "response.created", "response": response("in_progress", &none, &Value::Null)}),
                json!({"type": "response.in_progress", "response": response("in_progress", &none, &Value::Null)}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([]))}),
                of_item("response.content_part.added", json!({"part": part("")})),
                of_item("response.output_text.delta", json!({"delta": word, "logprobs": []})),
                of_item("response.output_text.done", json!({"text": word, "logprobs": []})),
                of_item("response.content_part.done", json!({"part": part(&word)})),
                json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
                json!({"type": "response.completed", "response": response("completed", &json!([done]), &usage)}),
            ];
            for (number, event) in expected.iter_mut().enumerate() {
                event["sequence_number"] = number.into();
            }
            assert_eq!(found, expected, "{provider:?}");
        }
    });
}

#[test]
fn a_tool_loop_goes_on_from_the_kept_response() {
    run(async {
        let scene = Scene::start("").await;
        let tool = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}});
        for provider in BOTH {
            for streaming in [false, true] {
                let asked = json!({"model": model(provider), "input": "[[tools:2]] look", "tools": [tool("a"), tool("b")], "stream": streaming});
                let (_, text) = create(&scene, &asked).await;
                let response: Value = match streaming {
                    true => events(&text).pop().expect("events")["response"].clone(),
                    false => serde_json::from_str(&text).expect("JSON"),
                };
                let calls: Vec<&Value> = response["output"]
                    .as_array()
                    .expect("items")
                    .iter()
                    .filter(|item| item["type"] == "function_call")
                    .collect();
                assert_eq!(calls.len(), 2, "{response}");
                // In reverse order: the host pairs them with their calls.
                let outputs: Vec<Value> = calls
                    .iter()
                    .rev()
                    .map(|call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "snow"}))
                    .collect();
                let second = json!({"model": model(provider), "previous_response_id": response["id"], "input": outputs, "tools": [tool("a"), tool("b")]});
                let answer = whole(&scene, &second).await;
                assert!(words(&answer).contains("snow"), "{answer}");
                // An output alone is no conversation.
                let alone = json!({"model": model(provider), "input": outputs});
                let (status, text) = create(&scene, &alone).await;
                let error: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!((status, &error["error"]["param"]), (400, &json!("input")), "{text}");
                assert!(text.contains("No tool call found for function call output with call_id"), "{text}");
            }
        }
    });
}

#[test]
fn a_conversation_is_its_owners_alone() {
    run(async {
        let scene = Scene::start("").await;
        let other = scene.gateway.open_account("other", "1000").await;
        let model = model(Wire::Chat);
        let first =
            whole(&scene, &json!({"model": model, "input": "my name is Ada", "instructions": "one"})).await;
        let id = first["id"].as_str().expect("an id").to_owned();
        let path = format!("/v1/responses/{id}");
        let item = &first["output"][0]["id"];

        // The next turn: what was said before goes along, the instructions do not.
        let since = scene.record(Wire::Chat).count;
        let second =
            whole(&scene, &json!({"model": model, "input": "who am I?", "previous_response_id": id})).await;
        assert_eq!(second["previous_response_id"], json!(id));
        let sent = scene.record(Wire::Chat);
        let sent = sent.requests.iter().find(|request| request.number >= since).expect("a request");
        let sent: Value = serde_json::from_slice(sent.body.as_deref().expect("a body")).expect("JSON");
        let said: Vec<&Value> =
            sent["messages"].as_array().expect("messages").iter().map(|message| &message["role"]).collect();
        assert_eq!(said, ["user", "assistant", "user"], "{sent}");
        assert!(sent["messages"].to_string().contains("Ada"));

        // A reference to an item is the item.
        let referring = json!({"model": model, "input": [{"type": "item_reference", "id": item}, {"role": "user", "content": "again"}]});
        whole(&scene, &referring).await;
        // It is named once: each further time a few bytes would stand for all of it.
        let reference = &referring["input"][0];
        let twice =
            json!({"model": model, "input": [reference, {"role": "user", "content": "x"}, reference]});
        let (status, text) = create(&scene, &twice).await;
        let error = serde_json::from_str::<Value>(&text).expect("JSON")["error"].clone();
        let message = format!(
            "Duplicate item found with id {}. Remove duplicate items from your input and try again.",
            item.as_str().expect("an id")
        );
        assert_eq!(
            (status, &error["param"], &error["message"]),
            (400, &json!("input"), &json!(message)),
            "{text}"
        );

        // For anyone else there is nothing, in the words for what never was.
        for (method, path, body, status) in [
            ("GET", path.clone(), String::new(), 404),
            ("DELETE", path.clone(), String::new(), 404),
            ("GET", format!("{path}/input_items"), String::new(), 404),
            (
                "POST",
                "/v1/responses".into(),
                json!({"model": model, "input": "x", "previous_response_id": id}).to_string(),
                400,
            ),
            ("POST", "/v1/responses".into(), referring.to_string(), 404),
        ] {
            let found = ask(&other, method, &path, &body).await;
            let unknown =
                |text: &str| text.replace(&id, "resp_0").replace(item.as_str().expect("an id"), "msg_0");
            let never = ask(&scene.caller, method, &unknown(&path), &unknown(&body)).await;
            assert_eq!((found.0, unknown(&found.1)), (status, never.1), "{method} {path}");
            assert_eq!(never.0, status);
        }
        let (_, text) =
            create(&scene, &json!({"model": model, "input": "x", "previous_response_id": "resp_0"})).await;
        let expected = json!({"error": {
            "message": "Previous response with id 'resp_0' not found.", "type": "invalid_request_error",
            "param": "previous_response_id", "code": "previous_response_not_found",
        }});
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), expected);

        let (status, text) = ask(&scene.caller, "GET", &path, "").await;
        assert_eq!((status, serde_json::from_str::<Value>(&text).expect("JSON")), (200, first.clone()));
        let (_, text) = ask(&scene.caller, "GET", &format!("{path}/input_items"), "").await;
        let items: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&items["data"][0]["content"], &items["has_more"]),
            (&json!("my name is Ada"), &json!(false))
        );

        // Gone is gone, and a conversation that began with it cannot go on from a part of it.
        let (status, text) = ask(&scene.caller, "DELETE", &path, "").await;
        assert_eq!((status, text.contains("\"deleted\":true")), (200, true), "{text}");
        assert_eq!(ask(&scene.caller, "GET", &path, "").await.0, 404);
        let third = json!({"model": model, "input": "x", "previous_response_id": second["id"]});
        assert_eq!(create(&scene, &third).await.0, 400);
    });
}

#[test]
fn what_is_not_to_be_kept_is_not_and_the_oldest_make_room() {
    run(async {
        let scene = Scene::start("[text]\nresponses_per_customer = 2\n\n").await;
        let read = async |response: &Value| {
            let path = format!("/v1/responses/{}", response["id"].as_str().expect("an id"));
            ask(&scene.caller, "GET", &path, "").await.0
        };
        let mut kept = Vec::new();
        for store in [json!(false), Value::Null, json!(true), json!(true)] {
            let response =
                whole(&scene, &json!({"model": model(Wire::Chat), "input": "x", "store": store})).await;
            assert_eq!(response["store"], json!(store != json!(false)));
            kept.push(response);
        }
        let mut found = Vec::new();
        for response in &kept {
            found.push(read(response).await);
        }
        assert_eq!(found, [404, 404, 200, 200]);
    });
}

/// Output without a count: a token for every four bytes, five credits for a million of them.
fn price_of(text: &str) -> i64 {
    i64::try_from(text.len().div_ceil(4) * 5).expect("a short text")
}

#[test]
fn a_failure_ends_a_stream_with_the_whole_response() {
    run(async {
        let scene = Scene::start("").await;
        for provider in BOTH {
            for mark in ["[[cut:3]]", "[[error:3]]"] {
                let text = format!("{mark}[[words:9]]the keeper of the lighthouse");
                let before = scene.spent().await;
                let chat = scene.send(Wire::Chat, &request(provider, &text, true)).await.end().await;
                // What is delivered before a failure is charged by its length; the provider cuts it by the request's bytes.
                let chat = scene.spent().await - before - price_of(&chat.delivered_text());
                let before = scene.spent().await;
                let asked = json!({"model": model(provider), "input": text, "stream": true, "max_output_tokens": 500});
                let (status, text) = create(&scene, &asked).await;
                let events = events(&text);
                let last = events.last().expect("events");
                assert_eq!((status, &last["type"]), (200, &json!("response.failed")), "{text}");
                let response = &last["response"];
                assert_eq!(
                    (&response["status"], &response["id"]),
                    (&json!("failed"), &events[0]["response"]["id"])
                );
                assert_eq!(response["error"]["code"], "server_error", "{text}");
                assert!(
                    response["error"]["message"].as_str().is_some_and(|message| !message.is_empty()),
                    "{text}"
                );
                let delivered: String = events
                    .iter()
                    .filter(|event| event["type"] == "response.output_text.delta")
                    .filter_map(|event| event["delta"].as_str())
                    .collect();
                assert_eq!(scene.spent().await - before - price_of(&delivered), chat, "{provider:?} {mark}");
                let path = format!("/v1/responses/{}", response["id"].as_str().expect("an id"));
                assert_eq!(ask(&scene.caller, "GET", &path, "").await.0, 404);
            }
            let (status, text) =
                create(&scene, &json!({"model": model(provider), "input": "[[400]]x", "stream": true})).await;
            let error: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!((status, &error["error"]["type"]), (400, &json!("invalid_request_error")), "{text}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_picture_and_a_limit() {
    run(async {
        let scene = Scene::start("").await;
        // Long enough to be cut out of the body on its way to the plugin, and kept whole for the next turn.
        let address = format!("{}/samples/640x360.png", scene.sandbox.context().samples);
        let file = send_to(&address, &[]).await.body;
        assert!(file.len() > 8 * 1024, "long enough to be cut out of the request");
        let png =
            format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(&file));
        let content =
            json!([{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": png}]);
        for provider in BOTH {
            let first = whole(
                &scene,
                &json!({"model": model(provider), "input": [{"role": "user", "content": content}]}),
            )
            .await;
            let since = scene.record(provider).count;
            let second = json!({"model": model(provider), "input": "[[words:30]]again", "max_output_tokens": 16, "previous_response_id": first["id"]});
            let second = whole(&scene, &second).await;
            assert_eq!(second["status"], "incomplete", "{second}");
            assert_eq!(second["incomplete_details"], json!({"reason": "max_output_tokens"}));
            let record = scene.record(provider);
            let sent = record.requests.iter().find(|request| request.number >= since).expect("a request");
            let sent = String::from_utf8_lossy(sent.body.as_deref().expect("a body")).into_owned();
            let base64 = png.split_once(',').expect("a data URI").1;
            assert!(sent.contains(base64), "the picture goes along");
        }
    });
}
