//! The line of a text request in the log: one, with its charge, also where the client left before the bill.

use gatehouse_harness::{run, send, until};
use serde_json::{Value, json};

use crate::text::left::DRAINED;
use crate::text::scene::{CROSSINGS, Scene, request};

/// The requests of the log that fit, the newest first.
async fn lines(scene: &Scene, query: &str) -> Vec<Value> {
    let file = std::fs::read(scene.gateway.folder().join("data/admin.json")).expect("an endpoint file");
    let endpoint: Value = serde_json::from_slice(&file).expect("JSON");
    let bearer = format!("Bearer {}", endpoint["token"].as_str().expect("a token"));
    let (path, headers) = (format!("/admin/v1/logs?{query}"), [("authorization", bearer.as_str())]);
    let answer = send(scene.gateway.admin(), "GET", &path, &headers, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let rows = answer.json();
    rows["data"].as_array().expect("lines").iter().map(|row| row["request"].clone()).collect()
}

/// Waits for one line that fits, and compares it with the money that was spent for it; the process has said it once, too.
async fn expect_line(scene: &Scene, query: &str, status: u16, spent: i64) {
    until("the line is there", async || !lines(scene, query).await.is_empty()).await;
    let found = lines(scene, query).await;
    assert_eq!(found.len(), 1, "{found:?}");
    let line = &found[0];
    assert_eq!((&line["status"], &line["charged_micro"]), (&json!(status), &json!(spent)), "{line}");
    assert!(spent > 0 && line["held_micro"].as_i64() > Some(spent), "{line}");
    let id = line["id"].as_str().expect("an id");
    let log = scene.gateway.log_text();
    let said: Vec<&str> =
        log.lines().filter(|said| said.contains(id) && said.contains("charged_micro")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(&spent.to_string()), "{said:?}");
}

/// Waits until so many requests are over for their clients, as the metrics say; their lines may still be waiting.
async fn until_left(scene: &Scene, requests: usize) {
    until("the client is seen to have left", async || {
        scene.counter("gatehouse_http_requests_total").await == requests as u64
    })
    .await;
}

#[test]
fn the_line_of_a_stream_whose_client_left_waits_for_its_bill() {
    run(async {
        let scene = Scene::start(DRAINED).await;
        for (count, (client, provider)) in CROSSINGS.into_iter().enumerate() {
            let before = scene.spent().await;
            let body = request(provider, "[[stall:2]] one two three four", true);
            let mut stream = scene.send(client, &body).await;
            stream.until("data: ").await;
            let head = stream.text();
            let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).expect("an id");
            let query = format!("text={}", id.trim());
            scene.until_held(1).await;
            drop(stream);
            until_left(&scene, count + 1).await;
            assert_eq!(lines(&scene, &query).await, Vec::<Value>::new());
            scene.release(1).await;
            let spent = scene.spent().await - before;
            expect_line(&scene, &query, 200, spent).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn so_does_the_line_of_a_whole_answer() {
    run(async {
        let scene = Scene::start("").await;
        for (count, (client, provider)) in CROSSINGS.into_iter().enumerate() {
            let before = scene.spent().await;
            let answer = scene.send(client, &request(provider, "[[slow-start]] hello", false)).await;
            scene.until_held(1).await;
            drop(answer);
            until_left(&scene, count + 1).await;
            assert_eq!(lines(&scene, "status=499").await.len(), count);
            scene.release(1).await;
            let spent = scene.spent().await - before;
            until("the line is there", async || lines(&scene, "status=499").await.len() == count + 1).await;
            let newest = lines(&scene, "status=499").await.remove(0);
            let query = format!("text={}", newest["id"].as_str().expect("an id"));
            expect_line(&scene, &query, 499, spent).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_request_that_ends_free_says_so_at_once() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            let answer = scene.send(client, &request(provider, "[[400]] hello", true)).await.end().await;
            assert_eq!(answer.status, 400, "{answer:?}");
        }
        until("all are logged", async || lines(&scene, "status=400").await.len() == CROSSINGS.len()).await;
        for line in lines(&scene, "status=400").await {
            assert_eq!(line["charged_micro"], 0, "{line}");
            assert!(line["held_micro"].as_i64() > Some(0), "{line}");
        }
    });
}
