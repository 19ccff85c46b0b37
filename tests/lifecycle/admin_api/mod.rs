//! `/admin/v1` of a running gateway: a key made there works and its secret is kept nowhere; a deposit is recognised after the
//! gateway was killed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{Gateway, Response, run, send};
use serde_json::{Value, json};

use crate::{sandbox, setup};

async fn ask(
    gateway: &Gateway,
    file: &str,
    method: &str,
    path: &str,
    body: Option<(&str, Value)>,
) -> Response {
    let endpoint = fs::read(gateway.folder().join("data").join(file)).expect("an endpoint file");
    let endpoint: Value = serde_json::from_slice(&endpoint).expect("JSON");
    let bearer = format!("Bearer {}", endpoint["token"].as_str().expect("a token"));
    let mut headers = vec![("authorization", bearer.as_str())];
    let (key, text) =
        body.map_or((String::new(), String::new()), |(key, body)| (key.to_owned(), body.to_string()));
    if !text.is_empty() {
        headers.extend([("content-type", "application/json"), ("idempotency-key", key.as_str())]);
    }
    send(gateway.admin(), method, &format!("/admin/v1{path}"), &headers, text).await
}

async fn operator(gateway: &Gateway, method: &str, path: &str, body: Option<(&str, Value)>) -> Value {
    let answer = ask(gateway, "admin.json", method, path, body).await;
    assert!(matches!(answer.status, 200 | 201), "{method} {path}: {}", answer.text());
    answer.json()
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
}

#[test]
fn a_key_made_over_the_api_works_and_its_secret_is_kept_nowhere() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox).with("[log]\nlevel = \"trace\"\n")).await;
        operator(&gateway, "POST", "/customers", Some(("c", json!({"id": "acme"})))).await;
        let new = json!({"customer": "acme", "name": "laptop", "quota_micro": 5_000_000});
        let made = operator(&gateway, "POST", "/keys", Some(("k", new.clone()))).await;
        let secret = made["secret"].as_str().expect("the secret");
        let again = operator(&gateway, "POST", "/keys", Some(("k", new))).await;
        assert_eq!((&again["secret"], &again["key"]["id"]), (&Value::Null, &made["key"]["id"]));

        let bearer = format!("Bearer {secret}");
        let models = async || {
            send(gateway.public, "GET", "/v1/models", &[("authorization", &bearer)], "").await.status
        };
        assert_eq!(models().await, 200);
        let viewer = async |method, path: &str| ask(&gateway, "admin-viewer.json", method, path, None).await;
        let id = made["key"]["id"].as_str().expect("an id");
        assert_eq!(viewer("GET", &format!("/keys/{id}")).await.status, 200);
        assert_eq!(viewer("POST", &format!("/keys/{id}/revoke")).await.status, 403);
        assert_eq!(models().await, 200);
        operator(&gateway, "POST", &format!("/keys/{id}/revoke"), None).await;
        assert_eq!(models().await, 401);

        let config = viewer("GET", "/config").await.json();
        let account = &config["values"]["providers"]["bfl"]["accounts"]["main"]["secret"];
        assert!(account.as_str().is_some_and(|origin| origin.starts_with("(secret) from file")), "{account}");
        assert_eq!(viewer("GET", "/families").await.json()["next"], Value::Null);

        let random = &secret["sk-".len() + 10..secret.len() - 6];
        let mut found = vec![
            ("the log".to_owned(), gateway.log_text().into_bytes()),
            ("the audit record".to_owned(), viewer("GET", "/audit.csv").await.body.to_vec()),
        ];
        files(gateway.folder(), &mut found);
        assert!(found.len() > 5, "{}", found.len());
        for (name, bytes) in found {
            let holds = bytes.windows(random.len()).any(|part| part == random.as_bytes());
            assert!(!holds, "{name} holds the secret");
        }
        gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_deposit_is_recognised_after_a_kill() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        operator(&gateway, "POST", "/customers", Some(("c", json!({"id": "acme"})))).await;
        let body = json!({"amount_micro": 7_000_000, "memo": "invoice 7"});
        let deposit = async |gateway: &Gateway| {
            operator(gateway, "POST", "/customers/acme/deposits", Some(("invoice-7", body.clone()))).await
        };
        let first = deposit(&gateway).await;
        gateway.kill().await;
        gateway.restart().await;
        let again = deposit(&gateway).await;
        assert_eq!(
            (&again["entry"], &again["customer"]["available_micro"]),
            (&first["entry"], &json!(7_000_000))
        );
        let lines = operator(&gateway, "GET", "/audit?operation=deposit", None).await;
        assert_eq!(lines["data"].as_array().map(Vec::len), Some(2), "{lines}");
        gateway.expect_sound_ledger().await;
    });
}
