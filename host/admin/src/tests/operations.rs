//! Every operation of the command line: one that may change something leaves one line in the audit record, done or refused,
//! and one that only reads leaves none.

use gatehouse_harness::send;
use gatehouse_store::AuditQuery;
use serde_json::{Value, json};

use super::support::{Listener, start};
use crate::Operation;

const KEY: &str = "0123456789abcdef0123456789abcdef";
const WEBHOOK: &str = "we_01KBH8V6G40000000000000007";
const DELIVERY: &str = "msg_01KBH8V6G40000000000000007";
const TASK: &str = "task_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// An operation of that name, and what the audit record calls it; none for one that only reads.
fn example(name: &str) -> (Value, Option<&'static str>) {
    let (fields, line) = match name {
        "account-open" => (json!({"account": "acme"}), Some("createCustomer")),
        "account-list" | "doctor" | "prices" | "provider-list" | "plugin-list" => (json!({}), None),
        "account-show" => (json!({"account": "known"}), None),
        "account-deposit" => (json!({"account": "known", "amount": 7, "memo": "m"}), Some("deposit")),
        "account-withdraw" => (json!({"account": "known", "amount": 3, "memo": "m"}), Some("withdraw")),
        "key-create" => {
            let policy = json!({"account": "known", "name": "n", "quota": null, "models": [], "networks": [], "expires": null});
            (policy, Some("createKey"))
        }
        "key-list" => (json!({"account": null, "revoked": true}), None),
        "key-show" => (json!({"key": KEY}), None),
        "key-edit" => (json!({"key": KEY, "patch": {}}), Some("editKey")),
        "key-rotate" => (json!({"key": KEY, "overlap_ms": 1}), Some("rotateKey")),
        "key-revoke" => (json!({"key": KEY}), Some("revokeKey")),
        "webhook" => (json!({"request": {"list": {"customer": null}}}), None),
        "audit" => (json!({"task": null, "limit": 5}), None),
        "reload" => (json!({}), Some("reloadConfig")),
        "console-link" => (json!({"role": "viewer"}), Some("createLoginLink")),
        "task-list" => (json!({"limit": 5}), None),
        "task-reconcile" => {
            (json!({"task": TASK, "ruling": {"ruling": "resend", "reason": "r"}}), Some("reconcileTask"))
        }
        "task-cancel" => (json!({"task": TASK, "reason": "r", "give_up": true}), Some("cancelTask")),
        "task-steps" => (json!({"task": TASK}), Some("listTaskSteps")),
        "price-preview" => (json!({"target": "images.generate", "body": {}}), None),
        "price-history" => (json!({"limit": 5}), None),
        "price-diff" => (json!({"book": 1}), None),
        "deployment-list" => (json!({"limit": 5}), None),
        "deployment-show" => (json!({"number": 1}), None),
        "provider-drain" => (json!({"provider": "p", "account": "a"}), Some("drainAccount")),
        "provider-resume" => (json!({"provider": "p", "account": "a"}), Some("resumeAccount")),
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

/// What is asked about webhooks, likewise.
fn webhook_example(name: &str) -> (Value, Option<&'static str>) {
    let new = json!({"customer": "known", "url": "https://example.com/h"});
    let (request, line) = match name {
        "create" => (json!({"create": new}), Some("createWebhook")),
        "list" => (json!({"list": {"customer": null}}), None),
        "show" => (json!({"show": WEBHOOK}), None),
        "enable" => (json!({"enable": {"id": WEBHOOK, "enabled": true}}), Some("editWebhook")),
        "rotate" => (json!({"rotate": WEBHOOK}), Some("rotateWebhookSecret")),
        "retire" => (json!({"retire": WEBHOOK}), Some("retireWebhookSecret")),
        "remove" => (json!({"remove": WEBHOOK}), Some("removeWebhook")),
        "test" => (json!({"test": WEBHOOK}), Some("testWebhook")),
        "resend" => (json!({"resend": DELIVERY}), Some("resendDelivery")),
        "resend-range" => (json!({"resend-range": {"id": WEBHOOK, "range": {}}}), Some("resendDeliveries")),
        other => panic!("a request about webhooks that this test does not know: {other}"),
    };
    (with_name("webhook", json!({"request": request})), line)
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
    assert!(operations.len() > 25, "{operations:?}");
    let webhooks = names(r#"{"operation":"webhook","request":"?"}"#);
    assert!(webhooks.len() > 8, "{webhooks:?}");
    // What begins with `customer-` is the newer word for the same.
    let all = operations.iter().filter(|name| !name.starts_with("customer-")).map(|name| example(name));
    for (operation, line) in all.chain(webhooks.iter().map(|name| webhook_example(name))) {
        let left = left(&listener, &operation).await;
        let told: Vec<_> = left.iter().map(|(name, who, _)| (name.as_str(), who.as_str())).collect();
        let expected: Vec<_> = line.into_iter().map(|name| (name, "command line")).collect();
        assert_eq!(told, expected, "{operation}");
    }
}

#[tokio::test]
async fn a_change_and_its_line_are_one_commit_with_what_changed() {
    let listener = start().await;
    let (create, _) = example("key-create");
    assert_eq!(left(&listener, &create).await.len(), 1);
    let key = listener.store.keys().unwrap().remove(0).id;
    let edit = json!({"operation": "key-edit", "key": key.0, "patch": {"name": "other"}});
    assert_eq!(left(&listener, &edit).await.len(), 1);
    let page = listener.store.list_audit(AuditQuery::default(), None, 2).await.unwrap();
    let line = page.rows[0].1.request.clone().unwrap();
    assert_eq!((line.operation.as_str(), line.object), ("editKey", format!("keys/{key}")));
    let change = &line.changes[0];
    assert_eq!(
        (change.field.as_str(), change.after.as_deref()),
        ("name", Some("\"other\"")),
        "{:?}",
        line.changes
    );
    assert!(page.rows[1].1.request.as_ref().is_some_and(|line| line.operation == "createKey"));
}
