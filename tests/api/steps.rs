//! The log of a task for operators: every step and exchange, without secrets, through a kill.

use gatehouse_harness::{Caller, Response, run};
use serde_json::{Value, json};

use crate::api::{TestGateway, request};

async fn steps(who: &Caller, task: &str) -> Response {
    who.get(&format!("/admin/v1/tasks/{task}/steps?limit=100")).await
}

/// All steps of all rows.
fn all(rows: &Value) -> Vec<&Value> {
    let rows = rows["data"].as_array().expect("rows");
    rows.iter().flat_map(|row| row["steps"].as_array().expect("steps")).collect()
}

#[test]
fn every_step_and_exchange_is_shown() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({"prompt": "a red kite over [[slow:200]] dunes"}))).await;
        let id = task["id"].as_str().expect("an id").to_owned();
        let shown = steps(&gateway.process.operator(), &id).await;
        assert_eq!(shown.status, 200, "{}", shown.text());
        let rows = shown.json();
        let found = all(&rows);
        let submit = found.iter().find(|step| step["kind"] == "exchange" && step["method"] == "POST");
        let submit = submit.unwrap_or_else(|| panic!("a submit in {rows}"));
        assert_eq!(
            (&submit["provider"], &submit["account"], &submit["status"]),
            (&json!("bfl"), &json!("main"), &json!(200)),
            "{rows}"
        );
        assert!(submit["request"].as_str().is_some_and(|text| text.contains("a red kite over")), "{submit}");
        assert!(submit["sent_bytes"].as_u64() > Some(0) && submit["received_bytes"].as_u64() > Some(0));
        for (kind, field, value) in
            [("plugin", "event", "start"), ("plugin", "verdict", "done"), ("wait", "reason", "plugin")]
        {
            assert!(found.iter().any(|step| step["kind"] == kind && step[field] == value), "{field}: {rows}");
        }
        let copied = found.iter().find(|step| step["kind"] == "copy").expect("a copy");
        assert!(copied["media"] == 1 && copied["bytes"].as_u64() > Some(0), "{copied}");
        for secret in ["sandbox-key", "x-key"] {
            assert!(!shown.text().contains(secret), "{secret} in {rows}");
        }

        // It shows a client's words: for operators only, and each read is on record.
        assert_eq!(steps(&gateway.process.viewer(), &id).await.status, 403);
        assert_eq!(steps(&gateway.process.operator(), "task_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.status, 404);
        assert_eq!(steps(&gateway.process.operator(), "none").await.status, 404);
        let text = gateway.process.command(&["steps", &id]).await;
        assert!(text.contains("at bfl/main: 200") && text.contains("start -> call"), "{text}");
        let path = format!("/admin/v1/audit?object=tasks/{id}/steps");
        let audit = gateway.process.viewer().get(&path).await.json();
        let read = audit["data"].as_array().expect("lines");
        assert_eq!(read.len(), 2, "{audit}");
        assert!(read.iter().all(|line| line["request"]["operation"] == "listTaskSteps"), "{audit}");

        gateway.process.crash().await;
        assert_eq!(steps(&gateway.process.operator(), &id).await.json(), rows);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn a_failed_exchange_says_why() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({"prompt": "[[submit-cut]] a red kite"}))).await;
        let id = task["id"].as_str().expect("an id");
        let rows = steps(&gateway.process.operator(), id).await.json();
        let found = all(&rows);
        let cut = found.iter().find(|step| step["kind"] == "exchange").expect("an exchange");
        assert!(cut["outage"].is_string() && cut["status"].is_null(), "{rows}");
        assert!(found.iter().any(|step| step["kind"] == "plugin" && step["event"] == "outage"), "{rows}");
        // Pages of one row.
        let path = format!("/admin/v1/tasks/{id}/steps?limit=1");
        let first = gateway.process.operator().get(&path).await.json();
        let cursor = first["next"].as_str().expect("more rows");
        let second = gateway.process.operator().get(&format!("{path}&cursor={cursor}")).await.json();
        assert_eq!([&first["data"][0], &second["data"][0]], [&rows["data"][0], &rows["data"][1]]);
    });
}
