//! Requests that come again: money moves once, a key is made once, and its secret is shown once. And what is done: it is
//! answered as done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use gatehouse_store::Access;
use serde_json::json;

use super::{Api, error};

#[tokio::test]
async fn twenty_equal_deposits_move_money_once() {
    let api = Api::start().await;
    let body = json!({"amount_micro": 5_000_000, "memo": "invoice 7"});
    let answers = join_all((0..20).map(|_| api.post("/customers/known/deposits", "invoice-7", &body))).await;
    let first = answers[0].json();
    assert_eq!(first["entry"]["amount_micro"], 5_000_000);
    for answer in &answers {
        assert_eq!((answer.status, &answer.json()["entry"]), (201, &first["entry"]));
    }
    assert_eq!(api.get("/customers/known").await["available_micro"], 5_000_000);
    // The answer is that of the first request, also when money moved since.
    let spent = api.post("/customers/known/withdrawals", "w", &json!({"amount_micro": 1_000_000})).await;
    assert_eq!(spent.json()["entry"]["amount_micro"], -1_000_000);
    let again = api.post("/customers/known/deposits", "invoice-7", &body).await.json();
    assert_eq!(
        (&again["entry"], &again["customer"]["available_micro"]),
        (&first["entry"], &json!(4_000_000))
    );
    assert_eq!(api.examined().await["sound"], true);
}

#[tokio::test]
async fn another_request_with_the_same_key_is_refused() {
    let api = Api::start().await;
    api.customer("other", 0).await;
    assert_eq!(api.post("/customers/known/deposits", "k", &json!({"amount_micro": 1})).await.status, 201);
    for (path, body) in [
        ("/customers/known/deposits", json!({"amount_micro": 2})),
        ("/customers/other/deposits", json!({"amount_micro": 1})),
        ("/customers/known/withdrawals", json!({"amount_micro": 1})),
        ("/keys", json!({"customer": "known", "name": "n"})),
    ] {
        let answer = api.post(path, "k", &body).await;
        assert_eq!(error(&answer).1, "idempotency_conflict", "{path}: {}", answer.text());
    }
    assert_eq!(api.get("/customers/known").await["available_micro"], 1);
    assert_eq!(api.get("/keys").await["data"], json!([]));
}

#[tokio::test]
async fn a_refused_request_may_be_sent_again() {
    let api = Api::start().await;
    let body = json!({"amount_micro": 3});
    assert_eq!(api.post("/customers/known/withdrawals", "k", &body).await.status, 409);
    api.post("/customers/known/deposits", "d", &json!({"amount_micro": 3})).await;
    assert_eq!(api.post("/customers/known/withdrawals", "k", &body).await.status, 201);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_kept_nowhere() {
    let api = Api::start().await;
    let body = json!({"customer": "known", "name": "laptop", "quota_micro": 5, "networks": ["10.1.2.3", "10.0.0.0/8"]});
    let first = api.post("/keys", "k", &body).await.json();
    let secret = first["secret"].as_str().expect("the secret").to_owned();
    assert_eq!(
        (&first["secret_shown"], &first["key"]["networks"]),
        (&json!(true), &json!(["10.1.2.3/32", "10.0.0.0/8"]))
    );
    let again = api.post("/keys", "k", &body).await;
    assert_eq!(
        (again.status, &again.json()["secret"], &again.json()["secret_shown"]),
        (201, &json!(null), &json!(false))
    );
    assert_eq!(again.json()["key"], first["key"]);
    assert_eq!(api.get("/keys").await["data"].as_array().map(Vec::len), Some(1));

    let lines = api.get("/audit?operation=createKey").await;
    let object = json!(format!("keys/{}", first["key"]["id"].as_str().expect("an id")));
    assert_eq!(
        (&lines["data"][0]["request"]["object"], &lines["data"][1]["request"]["object"]),
        (&object, &object)
    );

    let random = secret.strip_prefix("sk-").and_then(|rest| rest.get(10..42)).expect("the random part");
    for path in ["/keys", "/audit"] {
        assert!(!api.get(path).await.to_string().contains(random), "{path}");
    }
    let store = std::fs::read(api.listener.folder.path().join("core.redb")).unwrap();
    assert!(
        !store.windows(random.len()).any(|bytes| bytes == random.as_bytes()),
        "the store holds the secret"
    );
}

/// Without it an operator is told to try again what was done: money moves twice, or the only copy of a secret is lost.
#[tokio::test]
async fn a_change_that_stands_is_answered_while_the_store_cannot_be_read() {
    let api = Api::start().await;
    api.customer("acme", 100).await;
    let (one, two) = (api.key("acme", "one").await, api.key("acme", "two").await);
    let hook = json!({"customer": "acme", "url": "https://example.com/hook"});
    let made = api.post("/webhooks", "hook", &hook).await.json();
    let hook_path = format!("/webhooks/{}", made["webhook"]["id"].as_str().expect("an id"));
    let sent = api.act(&format!("{hook_path}/test"), "sent").await.json();
    let delivery = format!("/deliveries/{}", sent["id"].as_str().expect("an id"));

    // Commits until reads are refused: each request makes one before it is answered, and a change is another.
    let commits = Arc::new(AtomicUsize::new(usize::MAX));
    let left = Arc::clone(&commits);
    api.listener.store.ask_engine(move |access| {
        if access == Access::Commit && left.load(Ordering::SeqCst) > 0 {
            left.fetch_sub(1, Ordering::SeqCst);
        }
        access != Access::Read || left.load(Ordering::SeqCst) > 0
    });
    let (deposit, withdrawal) = (json!({"amount_micro": 50}), json!({"amount_micro": 20}));
    let adjustment = json!({"amount_micro": -7, "reason": "x"});
    let of_key = |id: &str, word: &str| format!("/keys/{id}{word}");
    let of_hook = |word: &str| format!("{hook_path}{word}");
    // Where the answer has the object, and where that is read.
    for (method, path, body, member, read) in [
        ("POST", "/customers".to_owned(), json!({"id": "new", "quota_micro": 5}), "", "/customers"),
        ("POST", "/customers/acme/deposits".to_owned(), deposit, "/customer", "/customers"),
        ("POST", "/customers/acme/withdrawals".to_owned(), withdrawal, "/customer", "/customers"),
        ("POST", "/customers/acme/adjustments".to_owned(), adjustment, "/customer", "/customers"),
        ("PATCH", "/customers/acme".to_owned(), json!({"quota_micro": 5}), "", "/customers"),
        ("POST", "/keys".to_owned(), json!({"customer": "acme", "name": "three"}), "/key", "/keys"),
        ("PATCH", of_key(&one, ""), json!({"quota_micro": 5}), "", "/keys"),
        ("POST", of_key(&one, "/rotate"), json!({"overlap_ms": 5}), "/key", "/keys"),
        ("POST", of_key(&two, "/revoke"), json!(null), "", "/keys"),
        ("POST", "/webhooks".to_owned(), hook, "/webhook", "/webhooks"),
        ("PATCH", of_hook(""), json!({"description": "night"}), "", "/webhooks"),
        ("POST", of_hook("/rotate-secret"), json!(null), "/webhook", "/webhooks"),
        ("POST", of_hook("/retire-secret"), json!(null), "", "/webhooks"),
        ("POST", of_hook("/test"), json!(null), "", "/deliveries"),
        ("POST", format!("{delivery}/resend"), json!(null), "", "/deliveries"),
    ] {
        commits.store(2, Ordering::SeqCst);
        let answer = match method {
            "PATCH" => api.patch(&path, Some("*"), &body).await,
            _ if body.is_null() => api.act(&path, &path).await,
            _ => api.post(&path, &path, &body).await,
        };
        assert_eq!(commits.swap(usize::MAX, Ordering::SeqCst), 0, "{path} was committed");
        assert!(answer.status < 300, "{path}: {}", answer.text());
        let answer = answer.json();
        let object = answer.pointer(member).expect("the object");
        let id = object["id"].as_str().expect("an id");
        assert_eq!(api.get(&format!("{read}/{id}")).await, *object, "{path}");
        assert!(answer["secret_shown"].is_null() || answer["secret"].is_string(), "{path}: the secret");
    }
    assert_eq!(api.get("/customers/acme").await["available_micro"], 100 + 50 - 20 - 7);
    assert_eq!(api.examined().await["sound"], true);
}
