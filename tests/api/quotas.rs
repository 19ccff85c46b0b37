//! Quotas that reset, through the whole gateway: many requests at once, a kill, and what clients and operators are told.

use futures_util::future::join_all;
use gatehouse_harness::{Caller, Response, run};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::{ROUTE, TestGateway, request};

/// The tasks of those of two hundred submissions at once that were taken; the others are 402 and say when to come back.
async fn at_once(key: &Caller, owner: &str) -> Vec<String> {
    let mut requests = JoinSet::new();
    for _ in 0..200 {
        let key = key.clone();
        requests.spawn(async move { key.post(ROUTE, &request(json!({}))).await });
    }
    let answers = requests.join_all().await;
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        let error = &refused.json()["error"];
        let resets = error["resets_at"].as_str().expect("a moment");
        assert_eq!((refused.status, refused.header("x-quota-reset")), (402, resets), "{}", refused.text());
        assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with(owner) && message.ends_with(&format!("resets at {resets}")), "{message}");
    }
    answers.iter().filter(|answer| answer.status == 200).map(Response::task_id).collect()
}

/// How many of these tasks failed: those whose creation the kill met at the provider are not sent twice, and are refunded.
async fn refunded(key: &Caller, tasks: &[String]) -> usize {
    let ends = join_all(tasks.iter().map(|id| key.end_of(id))).await;
    ends.iter().filter(|end| end["status"] == "failed").count()
}

async fn balance(key: &Caller) -> Value {
    key.get("/v1/balance").await.json()["data"].clone()
}

/// Without it a quota would be given twice after a crash, or by two requests that meet.
#[test]
fn a_quota_of_a_period_is_exact_for_two_hundred_at_once_and_across_a_kill() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let price = gateway.finish(&request(json!({}))).await["cost"].as_f64().expect("credits");
        let credits = |count: f64| format!("{:.6}", price * count);
        let (of_key, of_account) = (credits(7.5), credits(11.0));
        let create = ["--quota", of_key.as_str(), "--per", "month", "--offset", "+02:00"];
        let key = gateway.process.make_key("acme", &create).await;
        let other = gateway.process.make_key("acme", &["--unlimited"]).await;
        let edit = ["account", "edit", "acme", "--quota", of_account.as_str(), "--per", "week"];
        gateway.process.command(&edit).await;

        let tasks = at_once(&key, "key quota exceeded").await;
        let others = at_once(&other, "account quota exceeded").await;
        assert_eq!((tasks.len(), others.len()), (7, 4));
        gateway.process.crash().await;
        let (key, other) = (key.at(gateway.process.public), other.at(gateway.process.public));
        let (tasks, others) = (refunded(&key, &tasks).await, refunded(&other, &others).await);
        assert_eq!(at_once(&key, "key quota exceeded").await.len(), tasks);
        assert_eq!(at_once(&other, "account quota exceeded").await.len(), others);
        let found = balance(&key).await;
        let used = |found: &Value, count: f64| {
            (found["used"].as_f64().expect("credits") - price * count).abs() < 1e-9
                && found["resets_at"].is_string()
        };
        assert!(used(&found["key"], 7.0) && used(&found["quota"], 11.0), "{found}");
        gateway.process.expect_sound_ledger().await;

        // Another period begins with nothing used. A period needs a quota.
        gateway.process.command(&["account", "edit", "acme", "--quota", "none"]).await;
        gateway.process.command(&["key", "edit", key.id(), "--per", "day"]).await;
        assert_eq!(at_once(&key, "key quota exceeded").await.len(), 7);
        let shown = gateway.process.json(&["key", "show", key.id()]).await;
        assert_eq!(shown["quota_period"], json!("day"), "{shown}");
        let account = gateway.process.account("acme").await;
        assert_eq!((&account["quota_micro"], &account["quota_period"]), (&Value::Null, &Value::Null));
        let (_, said) = gateway.process.refused(&["key", "edit", key.id(), "--offset", "+02:00"]).await;
        assert!(said.contains("--per"), "{said}");
    });
}
