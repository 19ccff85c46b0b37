//! Tasks (fields, waiting, lists, cancelling), models, health.

use gatehouse_harness::{run, send};
use serde_json::{Value, json};

use crate::api::{TestGateway, request};

#[test]
fn a_task_has_the_fields_of_the_specification() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({}))).await;
        assert_eq!(
            (&task["status"], &task["progress"], &task["model"]),
            (&json!("completed"), &json!(100), &json!("ctx-pro"))
        );
        assert!(task["id"].as_str().is_some_and(|id| id.starts_with("task_") && id.len() == 31));
        assert_eq!(task["cost"], 4.0);
        assert!(task["created"].as_u64() <= task["completed"].as_u64() && task["created"].is_u64());
        assert!(
            task.get("error").is_none()
                && task["actual_time"].is_number()
                && task["estimated_time"].is_number()
        );
        let failed = gateway.finish(&request(json!({"n": 2}))).await;
        assert!(failed.get("result").is_none() && failed["error"]["message"].is_string());
        let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
        let again = gateway.caller.get(&path).await.json();
        assert_eq!(again, json!({"code": 200, "data": task}));
    });
}

#[test]
fn states_move_forward_and_progress_never_falls() {
    run(async {
        let gateway = TestGateway::start().await;
        let slow = request(json!({"prompt": "[[slow:400]] [[unknown-status]]"}));
        let id = gateway.submit(&slow).await.task_id();
        let order = ["submitted", "pending", "processing", "completed"];
        let (mut rank, mut progress) = (0, 0);
        loop {
            let task = gateway.caller.task(&id).await;
            let now = order.iter().position(|word| task["status"] == *word).expect("a known status");
            let done = task["progress"].as_u64().expect("a number");
            assert!(now >= rank && done >= progress, "{task} after {} at {progress}", order[rank]);
            (rank, progress) = (now, done);
            if rank == 3 {
                assert_eq!(progress, 100);
                break;
            }
        }
    });
}

#[test]
fn waiting_ends_with_the_task_or_its_time() {
    run(async {
        let gateway = TestGateway::start().await;
        let id = gateway.submit(&request(json!({"prompt": "[[never-ready]]"}))).await.task_id();
        let path = format!("/v1/tasks/{id}");
        let answer = gateway.caller.send("GET", &path, &[("prefer", "wait=1")], "").await;
        assert_ne!(answer.json()["data"]["status"], "completed");
        assert_eq!(answer.header("preference-applied"), "wait=1");
    });
}

#[test]
fn lists_page_and_filter() {
    run(async {
        let gateway = TestGateway::start().await;
        let mut ids = Vec::new();
        for model in ["ctx-pro", "ctx-max", "ctx-pro", "ctx-pro"] {
            ids.push(gateway.finish(&request(json!({"model": model}))).await["id"].clone());
        }
        ids.push(gateway.finish(&request(json!({"n": 9}))).await["id"].clone());
        ids.reverse();
        let list = async |query: &str| gateway.caller.get(&format!("/v1/tasks{query}")).await.json();
        let named = |list: &Value| {
            list["data"].as_array().expect("a list").iter().map(|it| it["id"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(named(&list("").await), ids);
        assert_eq!(named(&list("?limit=2").await), ids[..2]);
        let after = format!("?limit=2&after={}", ids[1].as_str().unwrap());
        assert_eq!(named(&list(&after).await), ids[2..4]);
        assert_eq!(named(&list("?status=failed").await), ids[..1]);
        assert_eq!(named(&list("?model=ctx-max").await), [ids[3].clone()]);
        for (query, word) in
            [("?limit=0", "limit"), ("?limit=x", "limit"), ("?status=done", "status"), ("?after=x", "after")]
        {
            let answer = gateway.caller.get(&format!("/v1/tasks{query}")).await;
            assert_eq!(answer.status, 400, "{query}");
            assert!(answer.json()["error"]["message"].as_str().unwrap_or_default().contains(word), "{query}");
        }
    });
}

#[test]
fn a_task_is_cancelled_only_while_nothing_was_sent() {
    run(async {
        // One permit at the provider: the second task waits for it and can still be cancelled.
        let gateway = TestGateway::start_with("[providers.bfl]\nconcurrency = 1\n").await;
        let first = gateway.submit(&request(json!({"prompt": "[[never-ready]]"}))).await.task_id();
        while gateway.sandbox.context_record().submits.is_empty() {
            gateway.caller.task(&first).await;
        }
        let second = gateway.submit(&request(json!({"prompt": "waits"}))).await.task_id();
        let cancel = async |id: &str| gateway.caller.cancel(id).await;
        let running = cancel(&first).await;
        assert_eq!(running.status, 409, "{}", running.json());
        let cancelled = cancel(&second).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.json());
        assert_eq!(
            (&cancelled.json()["data"]["status"], &cancelled.json()["data"]["error"]["type"]),
            (&json!("failed"), &json!("cancelled"))
        );
        assert_eq!(cancelled.json()["data"]["cost"], 0.0);
        assert_eq!(cancel(&second).await.status, 409, "it has ended");
        assert_eq!(gateway.sandbox.context_record().submits.len(), 1);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn models_and_health() {
    run(async {
        let gateway = TestGateway::start().await;
        let models = gateway.caller.get("/v1/models").await.json();
        assert_eq!(models["object"], "list");
        let ids: Vec<&str> =
            models["data"].as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
        let listed = |id: &str| ids.contains(&id);
        assert!(["ctx-max", "ctx-pro", "imagine-1.5-gw"].into_iter().all(listed), "{ids:?}");
        assert!(!listed("lm-sonnet-4-6"), "its provider has no account: {ids:?}");
        assert!(ids.is_sorted(), "{ids:?}");
        assert_eq!(gateway.caller.get("/v1/models/ctx-pro").await.json()["id"], "ctx-pro");
        assert_eq!(gateway.caller.get("/v1/models/none").await.status, 404);
        for path in ["/livez", "/readyz"] {
            assert_eq!(send(gateway.process.public, "GET", path, &[], "").await.status, 200, "{path}");
        }
    });
}
