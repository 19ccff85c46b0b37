//! Texts of some megabytes, as models read a million tokens; bodies no plugin can hold, which are a failure of the request and
//! never a fault of the plugin; and the memory that a conversation takes.

use gatehouse_harness::{Provider, reply, run};
use serde_json::{Value, json};

use crate::gateways::over;
use crate::text::responses::{create, whole};
use crate::text::scene::{CROSSINGS, Scene, Wire, request};

#[test]
fn a_text_of_some_megabytes_is_answered() {
    run(async {
        let scene = Scene::start("").await;
        // Two bytes each, and one word for the provider's limits.
        let text = "é".repeat(2_100_000);
        for (client, provider) in CROSSINGS {
            let before = scene.spent().await;
            let answer = scene.send(client, &request(provider, &text, false)).await.end().await;
            assert!(!answer.whole_text().is_empty(), "{client:?} over {provider:?}");
            assert!(scene.spent().await > before);
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_body_no_plugin_can_hold_is_a_client_error() {
    run(async {
        let scene = Scene::start("").await;
        // Every two bytes are a value of its own; a plugin that keeps them all needs some hundred MiB.
        let mut many = request(Wire::Messages, "hello", false);
        many["metadata"] = json!({ "user_id": "u", "more": vec![0; 4_100_000] });
        let mut long = request(Wire::Messages, "hello", false);
        long["messages"][0]["content"] = Value::from("a".repeat(9 << 20));
        for (client, body, expected) in [
            (Wire::Chat, &many, "is more than its plugin can work through"),
            (Wire::Messages, &many, "metadata.more"),
            (Wire::Chat, &long, "8388608 is the most"),
            (Wire::Messages, &long, "8388608 is the most"),
        ] {
            let json = [("content-type", "application/json")];
            let answer = scene.caller.send("POST", client.path(), &json, body.to_string()).await;
            let error = answer.json()["error"].clone();
            let message = error["message"].as_str().unwrap_or_default();
            assert!(answer.status == 400 && message.contains(expected), "{client:?}: {error}");
        }
        let page = scene.gateway.metrics().await;
        let faults = ["outcome=\"memory\"", "outcome=\"deadline\""];
        let mut counted = page.lines().filter(|line| faults.iter().any(|fault| line.contains(fault)));
        assert!(counted.all(|line| line.ends_with(" 0")), "{page}");
        assert_eq!(scene.spent().await, 0);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A line of seven megabytes is more than the plugin's memory; the client must not be told that the gateway has failed.
#[test]
fn an_event_no_plugin_can_hold_is_the_providers_failure() {
    run(async {
        let part = json!({"choices": [{"index": 0, "delta": {"content": "\u{e9}\n".repeat(1_800_000)}}]});
        let event = format!("data: {part}\n\n");
        let provider =
            Provider::start(move |_| reply(200, &[("content-type", "text/event-stream")], event.clone()))
                .await;
        let (gateway, caller) = over(&provider, &["only"], &["chat"]).await;
        let messages = json!([{"role": "user", "content": "hello"}]);
        let body = json!({"model": "chat", "max_tokens": 9, "stream": true, "messages": messages});
        let answer = caller.post("/v1/chat/completions", &body).await;
        assert!(answer.status == 502 && answer.text().contains("too large"), "{}", answer.text());
        let log = gateway.log_text();
        assert!(!log.contains("plugin fault in a text request"), "{log}");
        gateway.expect_sound_ledger().await;
    });
}

/// A request of 80 bytes brings along what its conversation has. Without a count some hundred of them fill the memory.
#[test]
fn a_conversation_counts_as_its_bytes_would_in_a_body() {
    run(async {
        let scene = Scene::start("[server.limits]\nbodies_mib = 8\n\n").await;
        let model = Wire::Chat.model();
        // A byte counts as four: this is more than half.
        let long = json!({"model": model, "input": format!("[[words:2]] {}", "a".repeat(1_300_000))});
        let first = whole(&scene, &long).await;
        let id = &first["id"];
        let follow_up = |text: &str| json!({"model": model, "input": text, "previous_response_id": id});
        let waits = follow_up("[[slow-start]] [[words:2]] one");
        let mut waiting = scene.caller.begin(&[], "/v1/responses", &waits).await;
        scene.until_held(1).await;
        for _ in 0..3 {
            let answer = scene.caller.post("/v1/responses", &follow_up("[[words:2]] another")).await;
            assert_eq!((answer.status, answer.header("retry-after")), (503, "1"), "{}", answer.text());
        }
        // An item of the same response is short, whatever it answered.
        let item = json!({"type": "item_reference", "id": first["output"][0]["id"]});
        whole(&scene, &json!({"model": model, "input": [item, {"role": "user", "content": "x"}]})).await;
        scene.sandbox.release();
        let answer = waiting.read().await.expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.text());

        // One alone is answered, and one that never fits is told so.
        whole(&scene, &follow_up("[[words:2]] again")).await;
        let mut longer = long.clone();
        longer["previous_response_id"] = id.clone();
        let (status, text) = create(&scene, &longer).await;
        assert!(status == 413 && text.contains("what is kept of its conversation"), "{status} {text}");
        scene.gateway.expect_sound_ledger().await;
    });
}
