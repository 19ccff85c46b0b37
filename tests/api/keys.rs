//! Limits of a key: models, networks, expiry, revocation, tasks of its customer only.

use gatehouse_harness::run;
use serde_json::json;

use crate::api::{TestGateway, request};

const IMAGES: &str = "/v1/images/generations";

#[test]
fn a_key_is_limited_to_its_models_networks_and_time() {
    run(async {
        let gateway = TestGateway::start().await;
        let pro_only = gateway.process.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
        assert_eq!(pro_only.post(IMAGES, &request(json!({}))).await.status, 200);
        let refused = pro_only.post(IMAGES, &request(json!({"model": "ctx-max"}))).await;
        assert_eq!(refused.refusal("type"), (403, json!("permission_error")));
        let models = pro_only.get("/v1/models").await.json();
        let ids: Vec<&str> =
            models["data"].as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
        assert_eq!(ids, ["ctx-pro"]);

        let elsewhere = gateway
            .process
            .make_key("acme", &["--unlimited", "--ip", "10.0.0.0/8", "--ip", "2001:db8::/32"])
            .await;
        let refused = elsewhere.post(IMAGES, &request(json!({}))).await;
        assert_eq!(refused.refusal("type"), (403, json!("permission_error")));
        let here = gateway.process.make_key("acme", &["--unlimited", "--ip", "127.0.0.0/8"]).await;
        assert_eq!(here.post(IMAGES, &request(json!({}))).await.status, 200);
    });
}

/// Without it a key limited to an alias would be refused under the documented name, and a misspelt one would be of no use.
#[test]
fn a_name_in_a_key_is_a_models_by_all_its_names() {
    run(async {
        let gateway = TestGateway::start().await;
        for name in ["imagine-1.5-ext", "imagine-1.5-gw"] {
            let key = gateway.process.make_key("acme", &["--unlimited", "--model", name]).await;
            for model in ["imagine-1.5-ext", "imagine-1.5-gw", "ctx-pro"] {
                let answer = key.post(IMAGES, &request(json!({"model": model, "dry_run": true}))).await;
                let expected = if model == "ctx-pro" { 403 } else { 200 };
                assert_eq!(answer.status, expected, "{name} {model}: {}", answer.text());
            }
        }
        let misspelt = ["key", "create", "ci", "--account", "acme", "--unlimited", "--model", "ctx-prp"];
        let (_, said) = gateway.process.refused(&misspelt).await;
        assert!(said.contains("did you mean \"ctx-pro\"?") && said.contains("--force"), "{said}");
        gateway.process.command(&[&misspelt[..], &["--force"]].concat()).await;
        let (_, said) = gateway.process.refused(&["key", "create", "ci", "--account", "acme"]).await;
        assert!(said.contains("--quota") && said.contains("--unlimited"), "{said}");
    });
}

#[test]
fn a_revoked_key_is_refused_at_once() {
    run(async {
        let gateway = TestGateway::start().await;
        let key = gateway.process.make_key("acme", &["--unlimited"]).await;
        assert_eq!(key.post(IMAGES, &request(json!({}))).await.status, 200);
        gateway.process.command(&["key", "revoke", key.id()]).await;
        let refused = key.post(IMAGES, &request(json!({}))).await;
        assert_eq!(refused.refusal("type"), (401, json!("authentication_error")));
        assert_eq!(gateway.submit(&request(json!({}))).await.status, 200, "other keys are untouched");
    });
}

#[test]
fn another_customers_task_is_unknown() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({}))).await;
        let id = task["id"].as_str().expect("an id");
        let other = gateway.process.open_account("other", "10").await;
        let unknown = other.get("/v1/tasks/task_01ARZ3NDEKTSV4RRFFQ69G5FAV").await;
        for (method, path) in [("GET", format!("/v1/tasks/{id}")), ("POST", format!("/v1/tasks/{id}/cancel"))]
        {
            let answer = other.send(method, &path, &[], "").await;
            assert_eq!(answer.status, 404, "{method} {path}");
            assert_eq!(answer.json()["error"]["type"], unknown.json()["error"]["type"]);
        }
        assert_eq!(other.get("/v1/tasks").await.json()["data"], json!([]));
        let sibling = gateway.process.make_key("acme", &["--unlimited"]).await;
        assert_eq!(sibling.get(&format!("/v1/tasks/{id}")).await.status, 200, "same owner, other key");
    });
}
