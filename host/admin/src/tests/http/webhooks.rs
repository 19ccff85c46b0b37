//! Webhooks over the API: made with a secret that is shown once and printed nowhere else, edited, rotated, tried out,
//! their deliveries listed and sent again.

use gatehouse_harness::Response;
use gatehouse_model::UnixMs;
use gatehouse_tasks::{Command, WebhookChange, WebhookPolicy};
use serde_json::{Value, json};

use super::{Api, error};

const URL: &str = "https://example.com/hook";

async fn made(api: &Api, key: &str) -> (String, String) {
    let answer = api.post("/webhooks", key, &json!({"customer": "known", "url": URL})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    (text(&answer.json()["webhook"]["id"]), text(&answer.json()["secret"]))
}

async fn edit(api: &Api, id: &str, patch: &Value) -> Response {
    api.patch(&format!("/webhooks/{id}"), Some("*"), patch).await
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stands_nowhere_else() {
    let api = Api::start().await;
    let (id, secret) = made(&api, "w").await;
    assert!(id.starts_with("we_") && secret.starts_with("whsec_") && secret.len() == 50, "{id}");
    let again = api.post("/webhooks", "w", &json!({"customer": "known", "url": URL})).await;
    assert_eq!((again.status, &again.json()["secret"]), (201, &Value::Null));
    assert_eq!((&again.json()["webhook"]["id"], &again.json()["secret_shown"]), (&json!(id), &json!(false)));
    let rotated = api.act(&format!("/webhooks/{id}/rotate-secret"), "r").await;
    assert_eq!(rotated.status, 201, "{}", rotated.text());
    let new = rotated.json()["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(new, secret);
    let shown = api.get(&format!("/webhooks/{id}")).await;
    assert_eq!(shown["old_secret_until"], "1970-01-02T00:00:01.000Z");
    for path in [format!("/webhooks/{id}"), "/webhooks".to_owned(), "/audit".to_owned()] {
        let text = api.get(&path).await.to_string();
        for secret in [&secret, &new] {
            assert!(text.contains(&id) && !text.contains(&secret["whsec_".len()..]), "{path}: {text}");
        }
    }
    let retire = api.act(&format!("/webhooks/{id}/retire-secret"), "t").await;
    assert_eq!((retire.status, &retire.json()["old_secret_until"]), (200, &Value::Null), "{}", retire.text());
}

#[tokio::test]
async fn everything_an_operator_sets_is_set_and_taken_back() {
    let api = Api::start().await;
    let (id, _) = made(&api, "w").await;
    let plain = api.get(&format!("/webhooks/{id}")).await;
    for (field, value) in [
        ("url", json!("https://example.com/other")),
        ("events", json!(["task.failed", "task.cancelled"])),
        ("description", json!("night shift")),
        ("enabled", json!(false)),
    ] {
        let set = edit(&api, &id, &json!({field: value})).await;
        assert_eq!((set.status, &set.json()[field]), (200, &value), "{}", set.text());
        let back = edit(&api, &id, &json!({field: plain[field]})).await;
        assert_eq!((back.status, &back.json()[field]), (200, &plain[field]), "{}", back.text());
    }
    for (patch, param) in [
        (json!({"url": "ftp://example.com"}), "url"),
        (json!({"url": "https://a:b@example.com"}), "url"),
        (json!({"url": ""}), "url"),
        (json!({"events": ["task.began"]}), "events[0]"),
        (json!({"events": ["task.failed", "task.failed"]}), "events"),
        (json!({"description": "x".repeat(201)}), "description"),
        (json!({"customer": "other"}), "customer"),
    ] {
        let answer = edit(&api, &id, &patch).await;
        assert_eq!((error(&answer).0, error(&answer).2.as_deref()), (400, Some(param)), "{}", answer.text());
    }
    // An address of which only the query changes is on record, without it.
    edit(&api, &id, &json!({"url": format!("{URL}?token=s3cret")})).await;
    edit(&api, &id, &json!({"url": format!("{URL}?token=other")})).await;
    let line = api.get("/audit?operation=editWebhook").await["data"][0].take();
    let shown = format!("{URL}?...");
    assert_eq!(
        line["request"]["changes"],
        json!([{"field": "url", "before": shown, "after": shown}]),
        "{line}"
    );
    let path = format!("/webhooks/{id}");
    let tag = api.ask("GET", &path, &[], "").await.header("etag").to_owned();
    edit(&api, &id, &json!({"description": "changed"})).await;
    let stale = api.patch(&path, Some(&tag), &json!({"enabled": false})).await;
    assert_eq!(
        (error(&stale).1.as_str(), &stale.json()["current"]["description"]),
        ("stale", &json!("changed"))
    );
    let viewer = [("authorization", api.viewer.as_str()), ("if-match", "*")];
    let forbidden = api.send("DELETE", &path, &viewer, "").await;
    assert_eq!(forbidden.status, 403, "{}", forbidden.text());
    assert_eq!(api.ask("DELETE", &path, &[], "").await.status, 204);
    assert_eq!(api.ask("GET", &path, &[], "").await.status, 404);
    let lines = api.get("/audit?operation=removeWebhook").await;
    assert_eq!(lines["data"][0]["request"]["object"], format!("webhooks/{id}"), "{lines}");
}

/// Without it a customer would enable what an operator disabled after it, and nobody would see that the operator did.
#[tokio::test]
async fn an_operator_disables_what_its_customer_has_disabled() {
    let api = Api::start().await;
    let (id, _) = made(&api, "w").await;
    let row = api.listener.store.webhook(id.parse().unwrap()).await.unwrap().unwrap();
    let policy = WebhookPolicy { enabled: false, ..row.policy() };
    let (id_of, revision, by_customer, by_word) = (row.id, row.revision, true, false);
    let change = WebhookChange::Edit { id: id_of, revision, policy, by_customer, by_word };
    let command = Command::Webhook { change: Box::new(change), at: UnixMs(2_000) };
    api.listener.store.execute(command).await.unwrap().unwrap();
    let (own, operators) = (json!("its owner disabled it"), json!("an operator disabled it"));
    let other = edit(&api, &id, &json!({"description": "seen"})).await;
    assert_eq!(other.json()["disabled_reason"], own, "nothing is said of it");
    for changes in [json!([{"field": "disabled_reason", "before": own, "after": operators}]), json!([])] {
        let disabled = edit(&api, &id, &json!({"enabled": false})).await;
        assert_eq!((disabled.status, &disabled.json()["disabled_reason"]), (200, &operators));
        let line = api.get("/audit?operation=editWebhook").await["data"][0].take();
        assert_eq!(line["request"]["changes"], changes, "{line}");
    }
    assert_eq!(edit(&api, &id, &json!({"enabled": true})).await.json()["disabled_reason"], Value::Null);
}

#[tokio::test]
async fn a_test_event_waits_and_can_be_sent_again() {
    let api = Api::start().await;
    let (id, _) = made(&api, "w").await;
    let test = api.act(&format!("/webhooks/{id}/test"), "t").await;
    assert_eq!(test.status, 201, "{}", test.text());
    let delivery = test.json()["id"].as_str().expect("an id").to_owned();
    let body: Value = serde_json::from_str(test.json()["body"].as_str().expect("text")).expect("JSON");
    assert_eq!((&body["type"], &body["data"]["webhook"]), (&json!("webhook.test"), &json!(id)));
    let list = api.get(&format!("/webhooks/{id}/deliveries?pending=true")).await;
    assert_eq!((&list["data"][0]["id"], &list["data"][0]["status"]), (&json!(delivery), &json!("pending")));
    let again = api.act(&format!("/deliveries/{delivery}/resend"), "a").await;
    assert_eq!((again.status, &again.json()["id"]), (200, &json!(delivery)), "{}", again.text());
    assert_eq!(api.get(&format!("/deliveries/{delivery}")).await["body"], test.json()["body"]);
    edit(&api, &id, &json!({"enabled": false})).await;
    let refused = api.act(&format!("/webhooks/{id}/test"), "u").await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    for path in ["/webhooks/none", "/webhooks/we_0/deliveries", "/deliveries/msg_0"] {
        let answer = api.ask("GET", path, &[], "").await;
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_customer_has_ten_at_most_and_a_list_has_pages() {
    let api = Api::start().await;
    for number in 0..10 {
        made(&api, &format!("w{number}")).await;
    }
    let more = api.post("/webhooks", "more", &json!({"customer": "known", "url": URL})).await;
    assert_eq!(more.status, 409, "{}", more.text());
    assert_eq!(api.all("/webhooks?customer=known", 7).await.0.len(), 10);
    assert_eq!(api.get("/webhooks?customer=other").await["data"], json!([]));
    let unknown = api.post("/webhooks", "u", &json!({"customer": "nobody", "url": URL})).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text());
}
