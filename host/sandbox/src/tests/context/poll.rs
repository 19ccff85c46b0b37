//! Polling: the answer's shape from submit to the end, and after it.

use std::time::Duration;

use serde_json::json;

use crate::tests::client::{START_MS, TestSandbox, fetch, link, prompt};

#[tokio::test]
async fn from_pending_to_ready() {
    let test = TestSandbox::with(|settings| settings.job_time = Duration::from_secs(4)).await;
    let polling = test.accepted(&prompt("a kite")).await;
    assert!(polling.starts_with(&test.sandbox.context().poll));
    let id = polling.rsplit('=').next().expect("an id").to_owned();
    let pending = |progress: serde_json::Value| {
        json!({
            "id": id, "status": "Pending", "result": null, "progress": progress, "details": null, "preview": null,
        })
    };
    for (ms, progress) in [(0, json!(null)), (1000, json!(0.25)), (2999, json!(0.99))] {
        test.advance(Duration::from_millis(ms));
        assert_eq!(fetch(&polling).await.json(), pending(progress));
    }
    test.advance(Duration::from_millis(1));
    let ready = fetch(&polling).await.json();
    let sample = ready["result"]["sample"].as_str().expect("a link");
    let start = f64::from(u32::try_from(START_MS / 1000).expect("small"));
    let expected = json!({
        "id": id, "status": "Ready", "progress": null, "details": null, "preview": null, "cost": 4,
        "result": {
            "sample": sample, "prompt": "a kite", "seed": 1,
            "start_time": start, "end_time": start + 4.0, "duration": 4.0,
        },
    });
    assert_eq!(ready, expected);
    let path = format!("{}/results/{}/{id}_sample.png?", test.sandbox.context().delivery, &id[..2]);
    assert!(sample.starts_with(&path), "{sample}");
    assert!(sample.contains("se=2026-01-01T00%3A10%3A04Z&sp=r"), "{sample}");
}

#[tokio::test]
async fn each_poll_signs_a_new_link() {
    let test = TestSandbox::start().await;
    let polling = test.accepted(&prompt("a kite")).await;
    let first = link(&polling).await;
    test.advance(Duration::from_mins(11));
    let second = link(&polling).await;
    assert_ne!(first, second);
    assert_eq!((fetch(&first).await.status, fetch(&second).await.status), (403, 200));
}

#[tokio::test]
async fn unknown_ids() {
    let test = TestSandbox::start().await;
    let poll = &test.sandbox.context().poll;
    for id in ["5f0c2f3e-0000-4000-8000-000000000001", "x", ""] {
        let reply = fetch(&format!("{poll}/v1/get_result?id={id}")).await;
        let expected = json!({
            "id": id, "status": "Task not found", "result": null,
            "progress": null, "details": null, "preview": null,
        });
        assert_eq!((reply.status, reply.json()), (404, expected));
    }
    let reply = fetch(&format!("{poll}/v1/get_result")).await;
    let expected = json!({ "detail": [
        { "type": "missing", "loc": ["query", "id"], "msg": "Field required", "input": null },
    ] });
    assert_eq!((reply.status, reply.json()), (422, expected));
}

#[tokio::test]
async fn poll_headers_announce_the_rate_limit() {
    let test = TestSandbox::with(|settings| settings.retry_after_s = 3).await;
    let polling = test.accepted(&prompt("a kite")).await;
    for left in ["1199", "1198"] {
        let reply = fetch(&polling).await;
        assert_eq!(reply.header("retry-after"), "3");
        assert_eq!(reply.header("x-ratelimit-limit"), "1200");
        assert_eq!(reply.header("x-ratelimit-remaining"), left);
        assert_eq!(reply.header("x-ratelimit-reset"), format!("{}.0", START_MS / 1000 + 60));
    }
    test.advance(Duration::from_mins(1));
    assert_eq!(fetch(&polling).await.header("x-ratelimit-remaining"), "1199");
}

#[tokio::test]
async fn upsampling_rewrites_the_prompt() {
    let test = TestSandbox::start().await;
    let polling = test.accepted(&json!({ "prompt": "a kite", "prompt_upsampling": true })).await;
    let result = fetch(&polling).await.json()["result"].clone();
    let used = result["prompt"].as_str().expect("a prompt");
    assert!(used.starts_with("a kite, "), "{used}");
    assert!(result["seed"].is_u64(), "a seed is chosen when none is given: {result}");
}
