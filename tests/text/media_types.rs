//! A provider whose streams have another media type than that of events, or none, or that writes its events carelessly: its
//! client receives the stream all the same, on every surface.

use std::sync::{Arc, Mutex};

use gatehouse_harness::{Provider, reply, run};
use serde_json::{Value, json};

use crate::gateways::over;
use crate::text::scene::{SURFACES, chunk, request_on};

/// Without it a server's stream is an answer that nobody can read, for a label that no client reads.
#[test]
fn a_stream_is_one_whatever_it_is_called() {
    run(async {
        let said = Arc::new(Mutex::new((None::<&'static str>, String::new())));
        let script = Arc::clone(&said);
        let provider = Provider::start(move |_| {
            let (kind, body) = script.lock().expect("a lock").clone();
            let headers: Vec<(&str, &str)> = kind.iter().map(|kind| ("content-type", *kind)).collect();
            reply(200, &headers, body)
        })
        .await;
        let (gateway, caller) = over(&provider, &["only"], &["chat"]).await;
        let chunks = [
            chunk(&json!({"role": "assistant", "content": "Hel"}), None).to_string(),
            chunk(&json!({"content": "lo"}), None).to_string(),
            chunk(&json!({}), Some("stop")).to_string(),
        ];
        let events = |before: &str, end: &str| {
            let done = "[DONE]".to_owned();
            chunks.iter().chain([&done]).map(|data| format!("{before}{data}{end}")).collect::<String>()
        };
        let usual = events("data: ", "\n\n");
        let lines = chunks.join("\n") + "\n";
        let whole = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]});
        for (kind, body) in [
            (Some("text/plain; charset=utf-8"), usual.clone()),
            (Some("application/octet-stream"), usual.clone()),
            (Some("application/x-ndjson"), usual.clone()),
            (Some("application/json"), usual.clone()),
            (Some("binary/octet-stream"), format!("\u{feff}\r\n: hello\r\n{}", events("data:", "\r\n\r\n"))),
            (None, usual.clone()),
            (Some("application/x-ndjson"), lines.clone()),
            (Some("text/event-stream"), lines),
            (Some("text/event-stream"), events("data: ", "\n")),
            (Some("text/event-stream"), format!("{whole:#}")),
            (None, whole.to_string()),
        ] {
            *said.lock().expect("a lock") = (kind, body.clone());
            for path in SURFACES {
                let answer = caller.post(path, &request_on(path, "chat", "hi", true)).await;
                let text = answer.text();
                assert_eq!(answer.status, 200, "{path} {kind:?} {body}: {text}");
                let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
                let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
                let read: String = events
                    .filter_map(|event| {
                        let delta = match path {
                            "/v1/chat/completions" => &event["choices"][0]["delta"]["content"],
                            "/v1/messages" => &event["delta"]["text"],
                            _ if event["type"] == "response.output_text.delta" => &event["delta"],
                            _ => &Value::Null,
                        };
                        delta.as_str().map(str::to_owned)
                    })
                    .collect();
                assert_eq!(read, "Hello", "{path} {kind:?} {body}: {text}");
            }
        }
        gateway.expect_sound_ledger().await;
    });
}
