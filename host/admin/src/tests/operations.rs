//! Every operation of the command line: one that may change something leaves one line in the audit record, done or refused,
//! and one that only reads leaves none.

use gatehouse_harness::send;
use gatehouse_store::AuditQuery;
use serde_json::{Value, json};

use super::support::{Listener, start};
use crate::Operation;

/// An operation of that name, and what the audit record calls it; none for one that only reads.
fn example(name: &str) -> (Value, Option<&'static str>) {
    let (fields, line) = match name {
        "plugin-list" => (json!({}), None),
        "deployment-list" => (json!({"limit": 5}), None),
        "deployment-show" => (json!({"number": 1}), None),
        "plugin-install" => (json!({"component": "AA==", "sha256": null}), Some("deployPlugin")),
        "plugin-check" => (json!({"component": "AA=="}), Some("checkPlugin")),
        "plugin-activate" => (json!({"version": "3f9a"}), Some("activatePlugin")),
        "plugin-rollback" => (json!({"family": "motion"}), Some("rollBackFamily")),
        "plugin-disable" => (json!({"family": "motion"}), Some("disableFamily")),
        "plugin-enable" => (json!({"family": "motion"}), Some("enableFamily")),
        "plugin-uninstall" => (json!({"family": "motion"}), Some("uninstallFamily")),
        "plugin-remove" => (json!({"version": "3f9a"}), Some("removePlugin")),
        other => panic!("an operation that this test does not know: {other}"),
    };
    (with_name(name, fields), line)
}

fn with_name(name: &str, mut fields: Value) -> Value {
    fields["operation"] = name.into();
    fields
}

/// The names that an enumeration of the JSON has, as its own error lists them.
fn names(unknown: &str) -> Vec<String> {
    let error = serde_json::from_str::<Operation>(unknown).unwrap_err().to_string();
    let listed = error.split_once("expected one of ").expect(&error).1;
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

async fn lines(listener: &Listener) -> Vec<(String, String, u16)> {
    let page = listener.store.list_audit(AuditQuery::default(), None, 100).await.unwrap();
    let told = page.rows.into_iter().filter_map(|(_, record)| record.request);
    told.map(|request| (request.operation, request.who, request.status)).collect()
}

/// Performs it; the lines it left.
async fn left(listener: &Listener, operation: &Value) -> Vec<(String, String, u16)> {
    let before = lines(listener).await.len();
    let bearer = format!("Bearer {}", listener.endpoint.token.reveal());
    let headers = [("authorization", bearer.as_str())];
    let body = operation.to_string();
    let answer = send(listener.endpoint.address, "POST", "/admin/operations", &headers, body).await;
    assert!(!answer.text().contains("is not an operation"), "{operation}: {}", answer.text());
    let mut all = lines(listener).await;
    all.truncate(all.len() - before);
    let done = answer.status == 200;
    assert!(
        all.iter().all(|(.., status)| (*status == 200) == done),
        "{operation}: {} {all:?}",
        answer.text()
    );
    all
}

#[tokio::test]
async fn every_operation_that_may_change_something_leaves_one_line() {
    let listener = start().await;
    let operations = names(r#"{"operation":"?"}"#);
    assert!(operations.len() > 8, "{operations:?}");
    for (operation, line) in operations.iter().map(|name| example(name)) {
        let left = left(&listener, &operation).await;
        let told: Vec<_> = left.iter().map(|(name, who, _)| (name.as_str(), who.as_str())).collect();
        let expected: Vec<_> = line.into_iter().map(|name| (name, "command line")).collect();
        assert_eq!(told, expected, "{operation}");
    }
}
