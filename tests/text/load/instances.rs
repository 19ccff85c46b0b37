//! How many instances of its plugin a text request takes: making one costs as much as a call.

use gatehouse_harness::run;
use serde_json::Value;

use crate::text::scene::{Scene, Wire, request};

/// Instances made so far, of all families.
async fn made(scene: &Scene) -> u64 {
    scene.counter("gatehouse_plugin_instances_total").await
}

async fn check(scene: &Scene, what: &str, client: Wire, body: &Value, expected: u64) {
    let before = made(scene).await;
    let answer = scene.send(client, body).await.end().await;
    assert_eq!(made(scene).await - before, expected, "{what}, {client:?}: {answer:?}");
}

#[test]
fn a_text_request_has_one_instance() {
    run(async {
        let scene = Scene::start("").await;
        let mut large = request(Wire::Chat, "hello", false);
        large["messages"][0]["content"] = Value::from("a".repeat(300_000));
        // A provider counts its failures by the text.
        let failing = |client: Wire| request(Wire::Chat, &format!("[[500:1]] {client:?}"), false);
        for (what, body, expected) in [
            ("whole", request(Wire::Chat, "hello", false), 1),
            ("a stream", request(Wire::Chat, "hello", true), 1),
            ("refused", serde_json::json!({ "model": "over-chat", "messages": 7 }), 1),
            ("too large to share one", large, 2),
        ] {
            for client in [Wire::Chat, Wire::Messages] {
                check(&scene, what, client, &body, expected).await;
            }
        }
        for client in [Wire::Chat, Wire::Messages] {
            check(&scene, "another account answers", client, &failing(client), 2).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
