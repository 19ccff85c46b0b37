//! Operations on a store: a key by its secret, and decisions among any number of requests.

use std::sync::Arc;

use gatehouse_model::{ApiKey, Pepper, RequestId, UnixMs};
use gatehouse_sample::{START, beginning, failed, key_id, task, task_id, webhook, webhook_change};
use gatehouse_tasks::{
    AuditedRequest, Command, MAX_CUSTOMER_WEBHOOKS, MAX_WEBHOOKS, MemoryLedgerStorage, WebhookChange,
    WebhookEndpoint,
};
use serde_json::json;

use super::{PEPPER, service};
use crate::{ApiRequest, AuditQuery, LocalApi};

#[tokio::test]
async fn a_key_is_found_by_its_secret_and_can_be_revoked() {
    let (service, _folder) = service();
    let service = Arc::new(service);
    let api = LocalApi::new(Arc::clone(&service), "somebody");
    api.send(ApiRequest::post(&["customers"]).json(&json!({"id": "a"}))).await.unwrap();
    let new = ApiRequest::post(&["keys"]).json(&json!({"customer": "a", "name": "laptop"}));
    let made = api.send(new).await.unwrap().body;
    let digest = ApiKey::parse(made["secret"].as_str().unwrap()).unwrap().digest(&Pepper::new(PEPPER));
    let id = service.store.key_by_digest(&digest).await.unwrap().unwrap().id.0;
    assert_eq!(made["key"]["id"], id.as_str());
    let count = async |state: &str| {
        let list = ApiRequest::get(&["keys"]).query("customer", "a");
        let list = list.query_if("state", Some(state).filter(|state| !state.is_empty()));
        api.send(list).await.unwrap().body["data"].as_array().unwrap().len()
    };
    assert_eq!(count("active").await, 1);
    api.send(ApiRequest::post(&["keys", &id, "revoke"])).await.unwrap();
    assert_eq!((count("active").await, count("").await), (0, 1));
}

fn line() -> AuditedRequest {
    AuditedRequest {
        id: RequestId::from_bits(7),
        who: "operator token".to_owned(),
        role: "operator".to_owned(),
        address: "127.0.0.1".to_owned(),
        operation: "rotateKey".to_owned(),
        object: "keys/1".to_owned(),
        status: 200,
        reason: String::new(),
        changes: Vec::new(),
    }
}

/// Decisions are found behind more requests than one page of the record reads, and each answer says where to go on.
#[tokio::test]
async fn decisions_are_read_with_a_cursor_past_any_number_of_requests() {
    let (service, _folder) = service();
    let decide = async |text: &str| {
        let decision = Command::Audit { task: None, text: text.to_owned(), at: UnixMs(0) };
        service.store.execute(decision).await.unwrap().unwrap();
    };
    decide("first").await;
    decide("second").await;
    for _ in 0..2_100 {
        let audit = Box::new(line());
        let command = Command::Administer { change: None, audit, idempotency: None, at: UnixMs(0) };
        service.store.execute_deferred(command).await.unwrap().unwrap();
    }
    service.store.flush().await.unwrap();
    let read = async |limit, requests: bool, cursor| {
        let query = AuditQuery { decisions: !requests, ..AuditQuery::default() };
        let page = service.attention.audit_lines(query, cursor, limit).await.unwrap();
        (page.rows.into_iter().map(|line| line.text).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(read(9, false, None).await, (vec!["second".to_owned(), "first".to_owned()], None));
    let (texts, next) = read(1, false, None).await;
    assert_eq!((texts, next.is_some()), (vec!["second".to_owned()], true));
    assert_eq!(read(1, false, next).await, (vec!["first".to_owned()], None));
    let (texts, next) = read(usize::MAX, true, None).await;
    assert_eq!((texts.len(), next.is_some()), (1_000, true), "an answer has an end");
}

/// Without it the page of a task says nothing of what a customer's later webhooks were told.
#[tokio::test]
async fn a_task_has_the_deliveries_of_every_webhook_of_its_customer() {
    let (service, _folder) = service();
    let begin = beginning().into_iter().map(|one| one.command(&MemoryLedgerStorage::default(), START));
    let webhooks = (1..=MAX_CUSTOMER_WEBHOOKS as u128).map(|number| {
        let made_by = (number > MAX_WEBHOOKS as u128).then(|| key_id(0));
        let webhook = WebhookEndpoint { made_by, ..webhook(number, 0) };
        webhook_change(WebhookChange::Add(Box::new(webhook)), START)
    });
    let submit = Command::Submit { task: Box::new(task(1, 0, 0, 10, START)), idempotency: None };
    let finish = Command::Finish { id: task_id(1), revision: 0, ending: failed(), audit: None, at: START };
    for command in begin.chain(webhooks).chain([submit, finish]) {
        service.store.execute(command).await.unwrap().unwrap();
    }
    let details = service.tasks.details(task_id(1)).await.unwrap();
    assert_eq!(details.deliveries.len(), MAX_CUSTOMER_WEBHOOKS);
}
