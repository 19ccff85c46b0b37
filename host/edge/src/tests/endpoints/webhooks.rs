//! `/v1/webhooks`: what reaches the driver, what comes back, and what is refused before.

use gatehouse_driver::WebhookAction;
use gatehouse_model::WebhookId;
use serde_json::{Value, json};

use crate::tests::TestEdge;

const OWN: WebhookId = WebhookId::from_bits(7);

#[tokio::test]
async fn a_new_webhook_is_answered_with_its_secret_and_a_repetition_without() {
    let edge = TestEdge::plain().await;
    let body = r#"{"url": "https://example.com/hook?k=1", "events": ["task.failed"]}"#;
    for (token, secret, replayed) in [("first", json!("whsec_1"), ""), ("again", Value::Null, "true")] {
        let request =
            edge.post("/v1/webhooks", body).replace("Host", &format!("Idempotency-Key: {token}\r\nHost"));
        let reply = edge.ask(request).await;
        assert_eq!((reply.status, reply.header("idempotency-replayed")), (200, replayed));
        let data = &reply.json()["data"];
        assert_eq!((&data["secret"], &data["enabled"]), (&secret, &json!(true)));
        assert_eq!((&data["id"], &data["events"]), (&json!(OWN), &json!(["task.failed"])));
    }
    let asked = edge.backend.webhook_requests.lock().unwrap();
    let WebhookAction::Create(policy) = &asked[0].action else { panic!("{:?}", asked[0]) };
    assert_eq!((policy.url.as_str(), policy.events.len()), ("https://example.com/hook?k=1", 1));
    let [first, again] = [0, 1].map(|at: usize| asked[at].idempotency.as_ref().unwrap());
    assert_eq!((asked[0].client.as_str(), &first.0[..]), ("127.0.0.1", "first"));
    assert_eq!(first.1, again.1, "of the same request");
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let edge = TestEdge::plain().await;
    for (body, param, expected) in [
        ("{}", "url", "expected an address, nothing came"),
        (r#"{"url": 7}"#, "url", "expected a text, got \"7\""),
        (r#"{"url": "x", "events": "task.failed"}"#, "events", "expected a list of"),
        (
            r#"{"url": "x", "events": ["task.failed", "task.born"]}"#,
            "events[1]",
            "balance.low, quota.reached, got",
        ),
        (r#"{"url": "x", "enabled": "yes"}"#, "enabled", "expected true or false"),
        (r#"{"url": "x", "secret": "whsec_mine"}"#, "secret", "unknown field, expected url, events"),
        (r#"{"url": "x", "dry_run": true}"#, "dry_run", "costs nothing"),
        (r#"{"url": "x", "callback_url": "x"}"#, "callback_url", "makes no task"),
    ] {
        let reply = edge.call("/v1/webhooks", body).await;
        assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!(param)), "{body}");
        assert!(reply.message().contains(expected), "{body}: {}", reply.message());
    }
    assert!(edge.backend.webhook_requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn one_webhook_is_read_changed_tried_out_and_removed() {
    let edge = TestEdge::plain().await;
    let path = format!("/v1/webhooks/{OWN}");
    let data = edge.read(&path).await.json()["data"].clone();
    assert_eq!((&data["description"], data.get("secret")), (&json!("of the shop"), None));
    assert_eq!(edge.call(&path, r#"{"enabled": false}"#).await.status, 200);
    let removed = edge.delete(&path).await;
    assert_eq!(removed.json(), json!({"code": 200, "data": {"id": OWN, "deleted": true}}));
    for (verb, status, retry_after) in [("rotate", 409, ""), ("test", 429, "3")] {
        let reply = edge.call(&format!("{path}/{verb}"), "").await;
        assert_eq!((reply.status, reply.header("retry-after")), (status, retry_after), "{verb}");
    }
    let page = edge.read(&format!("{path}/deliveries?limit=3")).await.json();
    assert_eq!(page, json!({"code": 200, "data": [], "has_more": false, "first_id": null, "last_id": null}));
    assert_eq!(edge.read("/v1/webhooks").await.json()["data"][0]["id"], json!(OWN));
    let secret = edge.read("/v1/callbacks/secret").await.json()["data"]["secret"].clone();
    assert!(secret.as_str().is_some_and(|text| text.starts_with("whsec_of_")), "{secret}");
}

#[tokio::test]
async fn a_callback_is_read_of_its_task() {
    let edge = TestEdge::plain().await;
    let with = edge.backend.put(1, |task| task.callback = Some("https://example.com/done".to_owned()));
    let without = edge.backend.put(2, |_| {});
    let read = async |id: &str| edge.read(&format!("/v1/tasks/{id}/callback")).await;
    let found = read(&with.to_string()).await.json();
    let data =
        json!({"task": with, "url": "https://example.com/done", "status": "waiting", "delivery": null});
    assert_eq!(found, json!({"code": 200, "data": data}));
    for id in [without.to_string(), "x".to_owned()] {
        assert_eq!(read(&id).await.status, 404, "{id}");
    }
}

#[tokio::test]
async fn an_unknown_webhook_is_not_found_whatever_is_asked_of_it() {
    let edge = TestEdge::plain().await;
    for id in [WebhookId::from_bits(8).to_string(), "we_1".to_owned(), "x".to_owned()] {
        let path = format!("/v1/webhooks/{id}");
        for request in [
            edge.get(&path, ""),
            edge.get(&format!("{path}/deliveries"), ""),
            edge.post(&path, "{}"),
            edge.post(&path, "").replacen("POST", "DELETE", 1),
        ] {
            let reply = edge.ask(request).await;
            assert_eq!((reply.status, reply.message()), (404, format!("unknown webhook {id:?}")));
        }
    }
}

/// Without it a text's client would wait for a callback that never comes.
#[tokio::test]
async fn what_is_answered_at_once_takes_no_callback() {
    let edge = TestEdge::plain().await;
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/completions"]
    {
        let body = r#"{"model": "m", "callback_url": "https://example.com/done"}"#;
        let reply = edge.call(path, body).await;
        assert_eq!(reply.status, 400, "{path}");
        assert!(reply.body.windows(12).any(|part| part == b"callback_url"), "{path}");
    }
}
