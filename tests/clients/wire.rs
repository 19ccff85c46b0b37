//! Properties no SDK shows: the order of events on the wire, the hold after a provider that never ends, and connections.

use gatehouse_harness::{Connection, Gateway, checks, run, run_together, until};
use serde_json::{Value, json};

use crate::clients::scene::Scene;

/// Clients keep an idle connection for five seconds and more; three times that is safe.
const LEAST_IDLE: u64 = 15;

async fn post(scene: &Scene, path: &str, body: &Value) -> String {
    let answer = scene.gateway.caller(scene.key("main")).post(path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    answer.text()
}

/// Every frame's event name and data, in order; fails where the bytes are framed in any other way.
fn frames(text: &str) -> Vec<(&str, Value)> {
    let body = text.strip_suffix("\n\n").expect("a blank line after the last frame");
    let frames = body.split("\n\n").map(|frame| {
        let (event, data) = frame.split_once("\ndata: ").expect("an event and its data");
        let event = event.strip_prefix("event: ").expect("an event's name");
        (event, serde_json::from_str(data).unwrap_or_else(|error| panic!("{data}: {error}")))
    });
    frames.collect()
}

#[test]
fn the_wire_is_as_specified() {
    run_together(
        async || Scene::start("").await,
        checks![
            a_streams_events_come_in_the_specified_order,
            a_chat_stream_is_data_lines_and_a_done,
            one_connection_carries_two_hundred_requests,
        ],
    );
}

/// Row 16.
async fn a_streams_events_come_in_the_specified_order(scene: &Scene) {
    for model in ["lm-sonnet-4-6", "gpt-sim"] {
        let asked = json!({
            "model": model, "max_tokens": 100, "stream": true,
            "messages": [{"role": "user", "content": "a lighthouse"}],
        });
        let text = post(scene, "/v1/messages", &asked).await;
        let frames = frames(&text);
        let mut names: Vec<&str> = frames.iter().map(|(name, _)| *name).collect();
        for (name, data) in &frames {
            assert_eq!(data["type"], **name, "{text}");
        }
        names.dedup_by(|one, other| one == other && *one == "content_block_delta");
        let expected = [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ];
        assert_eq!(names, expected, "{model}: {text}");
        let usage = frames[frames.len() - 2].1["usage"].as_object().expect("usage");
        for field in
            ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
        {
            assert!(usage[field].is_u64(), "{model}: {field} in {usage:?}");
        }
    }
}

/// The same for chat, whose clients reject a frame without data or with an id.
async fn a_chat_stream_is_data_lines_and_a_done(scene: &Scene) {
    for model in ["lm-sonnet-4-6", "gpt-sim"] {
        let asked = json!({
            "model": model, "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": "a lighthouse"}],
        });
        let text = post(scene, "/v1/chat/completions", &asked).await;
        let body = text.strip_suffix("data: [DONE]\n\n").expect("the end");
        let chunks: Vec<Value> = body
            .split_terminator("\n\n")
            .map(|frame| {
                let data = frame.strip_prefix("data: ").expect("data alone");
                serde_json::from_str(data).unwrap_or_else(|error| panic!("{data}: {error}"))
            })
            .collect();
        let (last, others) = chunks.split_last().expect("chunks");
        assert_eq!(last["choices"], json!([]), "{model}: {text}");
        assert!(last["usage"]["completion_tokens"].is_u64(), "{model}: {text}");
        assert!(others.iter().all(|chunk| chunk["usage"].is_null()), "{model}: {text}");
        assert_eq!(others[0]["choices"][0]["delta"]["role"], "assistant", "{model}: {text}");
        let ends = others.iter().filter(|chunk| chunk["choices"][0]["finish_reason"] == "stop").count();
        assert_eq!(ends, 1, "{model}: {text}");
    }
}

/// Row 10, where the provider never ends: delivered text is paid, and no hold stays.
#[test]
fn a_provider_that_never_ends_keeps_no_hold() {
    run(async {
        let scene = Scene::start("[text]\ndrain_s = 1\n\n").await;
        for path in ["/v1/messages", "/v1/chat/completions"] {
            let before =
                scene.gateway.account_without_holds("main").await["spent"].as_i64().expect("an amount");
            let request = json!({
                "model": "lm-sonnet-4-6", "max_tokens": 100, "stream": true,
                "messages": [{"role": "user", "content": "[[stall:3]] a lighthouse"}],
            });
            let mut connection = scene.gateway.caller(scene.key("main")).begin(&[], path, &request).await;
            // The third delta is sent when the provider stalls.
            connection.until("ping").await;
            until("the provider stalls", async || scene.held() == 1).await;
            drop(connection);
            let after = scene.gateway.account_without_holds("main").await;
            let charged = after["spent"].as_i64().expect("an amount") - before;
            assert!(charged > 0, "{path}: what was delivered is paid, {after}");
            until("the provider is let go", async || scene.held() == 0).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Row 18: connections live long enough, and one connection carries every kind of request.
async fn one_connection_carries_two_hundred_requests(scene: &Scene) {
    let mut connection = Connection::open(scene.gateway.public).await;
    let bearer = format!("Bearer {}", scene.key("main"));
    for number in 0..200 {
        // Answers, refusals and unknown paths: none of them may close the connection.
        let (path, status) =
            [("/v1/models", 200), ("/v1/tasks/task_1", 404), ("/v1/v1/models", 404)][number % 3];
        connection.request("GET", path, &[("authorization", &bearer)], b"").await;
        let answer = connection.read().await.unwrap_or_else(|| panic!("request {number}: closed"));
        assert_eq!(answer.status, status, "request {number}");
        assert_eq!(answer.header("connection"), "", "request {number}");
    }
    assert!(idle_seconds(&scene.gateway).await >= LEAST_IDLE);
}

/// The limit in effect, as the operator's command prints it.
async fn idle_seconds(gateway: &Gateway) -> u64 {
    let shown = gateway.command(&["check-config"]).await;
    let line = shown.lines().find(|line| line.starts_with("idle_seconds")).expect("the limit");
    line.split('=').nth(1).and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{line}"))
}
