//! Rates and concurrency of a key, its edits and its rotation, as clients and operators see them.

use gatehouse_harness::{Caller, Response, run};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::{ROUTE, TestGateway, request};

/// A task that lives until it is cancelled.
fn endless() -> Value {
    request(json!({"prompt": "[[never-ready]]"}))
}

async fn edit(gateway: &TestGateway, key: &Caller, options: &[&str]) {
    gateway.process.command(&[&["key", "edit", key.id()], options].concat()).await;
}

/// The key as the operator sees it.
async fn shown(gateway: &TestGateway, key: &Caller) -> Value {
    gateway.process.json(&["key", "show", key.id()]).await
}

/// A refusal that says all there is to know, and when to come back.
fn check_limited(answer: &Response, key: &Caller, words: &[&str]) {
    assert_eq!(answer.status, 429, "{}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!((&error["type"], &error["reason"]), (&json!("rate_limit_error"), &json!("rate_limited")));
    let message = answer.message();
    for word in words.iter().chain(&[key.id()]) {
        assert!(message.contains(word), "{word}: {message}");
    }
    let seconds: u64 = answer.header("retry-after").parse().expect("whole seconds");
    assert!((1..=60).contains(&seconds), "{seconds}");
}

#[test]
fn requests_a_minute_are_limited_and_counted_down() {
    run(async {
        let gateway = TestGateway::start().await;
        let key = gateway.process.make_key("acme", &["--unlimited", "--rpm", "3"]).await;
        for left in ["2", "1", "0"] {
            let answer = key.post(ROUTE, &request(json!({}))).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.header("x-ratelimit-limit-requests"), "3");
            assert_eq!(answer.header("x-ratelimit-remaining-requests"), left);
            assert!(answer.header("x-ratelimit-reset-requests").ends_with('s'));
        }
        let refused = key.post(ROUTE, &request(json!({}))).await;
        check_limited(&refused, &key, &["3 requests per minute", "retry in"]);
        assert_eq!(refused.header("x-ratelimit-remaining-requests"), "0");
        // Reads count against nothing, and another key has its own.
        assert_eq!(key.get("/v1/tasks").await.status, 200);
        assert_eq!(gateway.submit(&request(json!({}))).await.status, 200);
        // Taken away, it limits no more, at once.
        edit(&gateway, &key, &["--rpm", "none"]).await;
        assert_eq!(key.post(ROUTE, &request(json!({}))).await.status, 200);
        // Set again, what was taken meanwhile is still taken.
        edit(&gateway, &key, &["--model-limit", "ctx-pro=rpm:1"]).await;
        assert_eq!(key.post(ROUTE, &request(json!({}))).await.status, 200);
        check_limited(
            &key.post(ROUTE, &request(json!({}))).await,
            &key,
            &["1 requests per minute", "ctx-pro"],
        );
        assert_eq!(key.post(ROUTE, &request(json!({"model": "ctx-max"}))).await.status, 200);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn fifty_requests_at_once_stop_at_the_concurrency_and_at_the_quota() {
    run(async {
        let gateway = TestGateway::start().await;
        let busy = gateway.process.make_key("acme", &["--unlimited", "--concurrency", "4"]).await;
        // Seven tasks of four credits, to the last credit.
        let poor = gateway.process.make_key("acme", &["--quota", "28"]).await;
        let all_at_once = async |key: &Caller| {
            let mut requests = JoinSet::new();
            for _ in 0..50 {
                let key = key.clone();
                requests.spawn(async move { key.post(ROUTE, &endless()).await });
            }
            requests.join_all().await
        };
        let answers = all_at_once(&busy).await;
        let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((taken.len(), refused.len()), (4, 46));
        for answer in refused {
            check_limited(answer, &busy, &["4 tasks and text requests at a time"]);
        }
        assert_eq!(shown(&gateway, &busy).await["open"], json!({"ctx-pro": 4}));
        let cancel = format!("/v1/tasks/{}/cancel", taken[0].task_id());
        let _ = busy.send("POST", &cancel, &[], "").await;

        let answers = all_at_once(&poor).await;
        let count = |status| answers.iter().filter(|answer| answer.status == status).count();
        assert_eq!((count(200), count(402)), (7, 43));
        let used = shown(&gateway, &poor).await;
        assert_eq!(used["used_micro"], used["quota_micro"], "exactly nothing is left");
        // Less than is used is allowed, and more lets the next one through.
        edit(&gateway, &poor, &["--quota", "1"]).await;
        assert_eq!(poor.post(ROUTE, &endless()).await.status, 402);
        edit(&gateway, &poor, &["--quota", "32"]).await;
        assert_eq!(poor.post(ROUTE, &endless()).await.status, 200);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn both_keys_of_a_rotation_work_for_a_while_and_spend_one_quota() {
    run(async {
        let gateway = TestGateway::start().await;
        let old = gateway.process.make_key("acme", &["--quota", "12"]).await;
        assert_eq!(old.post(ROUTE, &request(json!({}))).await.status, 200);
        let rotated = gateway.process.rotate_key(&old, "1h").await;
        assert_eq!(rotated.post(ROUTE, &request(json!({}))).await.status, 200);
        assert_eq!(old.post(ROUTE, &request(json!({}))).await.status, 200);
        for key in [&old, &rotated] {
            assert_eq!(key.post(ROUTE, &request(json!({}))).await.status, 402);
        }
        assert_eq!(shown(&gateway, &rotated).await["rotated_from"], old.id());
        // Without an overlap the old one ends at once.
        let last = gateway.process.rotate_key(&rotated, "0s").await;
        assert_eq!(rotated.post(ROUTE, &request(json!({}))).await.status, 401);
        assert_eq!(last.post(ROUTE, &request(json!({}))).await.status, 402);
        edit(&gateway, &last, &["--quota", "none"]).await;
        for key in [&old, &last] {
            assert_eq!(key.post(ROUTE, &request(json!({}))).await.status, 200);
        }
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn an_edit_holds_from_the_next_request_on_and_names_its_revision() {
    run(async {
        let gateway = TestGateway::start().await;
        let key = gateway.process.make_key("acme", &["--unlimited"]).await;
        let status = async |body: Value| key.post(ROUTE, &request(body)).await.status;
        edit(&gateway, &key, &["--model", "ctx-max"]).await;
        assert_eq!((status(json!({})).await, status(json!({"model": "ctx-max"})).await), (403, 200));
        edit(&gateway, &key, &["--all-models", "--ip", "10.0.0.0/8"]).await;
        assert_eq!(status(json!({})).await, 403);
        edit(&gateway, &key, &["--any-ip", "--expires", "1s"]).await;
        edit(&gateway, &key, &["--expires", "never"]).await;
        assert_eq!(status(json!({})).await, 200);
        assert_eq!(shown(&gateway, &key).await["revision"], 4);
        let late = ["key", "edit", key.id(), "--rpm", "1", "--if-revision", "3"];
        let (_, text) = gateway.process.refused(&late).await;
        assert!(text.contains("it is at revision 4, not 3"), "{text}");
        assert_eq!(shown(&gateway, &key).await["limits"]["requests_per_minute"], json!(null));
        gateway.process.refused(&["key", "edit", key.id(), "--model-limit", "nothing=rpm:1"]).await;
    });
}

/// Without it a second edit under another name would be refused, or leave two limits of which one counts.
#[test]
fn an_edit_by_another_name_of_a_model_changes_its_one_limit() {
    run(async {
        let gateway = TestGateway::start().await;
        let key = gateway.process.make_key("acme", &["--unlimited"]).await;
        edit(&gateway, &key, &["--model-limit", "imagine-1.5-ext=rpm:5"]).await;
        edit(&gateway, &key, &["--model-limit", "imagine-1.5-gw=concurrency:2"]).await;
        let limits = shown(&gateway, &key).await["model_limits"].clone();
        let all: Vec<&Value> = limits.as_object().expect("limits").values().collect();
        assert_eq!(all.len(), 1, "{limits}");
        assert_eq!((&all[0]["requests_per_minute"], &all[0]["concurrency"]), (&json!(5), &json!(2)));
        edit(&gateway, &key, &["--model-limit", "imagine-1.5-ext=none"]).await;
        assert_eq!(shown(&gateway, &key).await["model_limits"], json!({}));
    });
}
