//! Requests that come again: money moves once, a key is made once, and its secret is shown once.

use futures_util::future::join_all;
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
