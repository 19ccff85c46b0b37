//! Edits and rotations of keys, and edits of customers: every limit can be set and taken away, and no editor overwrites another.

use gatehouse_harness::Response;
use serde_json::{Value, json};

use super::{Api, error};

async fn edit(api: &Api, id: &str, tag: Option<&str>, patch: &Value) -> Response {
    api.patch(&format!("/keys/{id}"), tag, patch).await
}

/// Of keys and customers alike: what an operator sets is what is shown, with what counts and when it resets.
#[tokio::test]
async fn a_quota_resets_as_an_operator_says() {
    let api = Api::start().await;
    let path = format!("/keys/{}", api.key("known", "laptop").await);
    for path in [path.as_str(), "/customers/known"] {
        let set = json!({"quota_micro": 5, "quota_period": "month+02:00"});
        let answer = api.patch(path, Some("*"), &set).await;
        let now = answer.json();
        assert_eq!((answer.status, &now["quota_period"]), (200, &json!("month+02:00")), "{path}: {now}");
        assert_eq!(
            (&now["quota_used_micro"], now["quota_resets"].is_string()),
            (&json!(0), true),
            "{path}: {now}"
        );
        let same = api.patch(path, Some(answer.header("etag")), &json!({"quota_micro": 9})).await;
        assert_eq!(same.json()["quota_period"], json!("month+02:00"), "{path}");
        let stale = api.patch(path, Some(answer.header("etag")), &json!({"quota_micro": 1})).await;
        assert_eq!(error(&stale).1, "stale", "{path}");
        let without = api.patch(path, Some("*"), &json!({"quota_period": null})).await.json();
        assert_eq!((&without["quota_micro"], &without["quota_resets"]), (&json!(9), &Value::Null), "{path}");
        for (patch, param) in [
            (json!({"quota_period": "year"}), "quota_period"),
            (json!({"quota_period": "month+15:00"}), "quota_period"),
            (json!({"quota_micro": null, "quota_period": "day"}), "quota_period"),
            (json!({"quota_micro": -1}), "quota"),
        ] {
            let refused = error(&api.patch(path, Some("*"), &patch).await);
            assert_eq!((refused.0, refused.2.as_deref()), (400, Some(param)), "{path} {patch}");
        }
        assert_eq!(api.get(path).await["quota_micro"], json!(9), "{path}");
    }
    let new = json!({"id": "weekly", "quota_micro": 7, "quota_period": "week"});
    let opened = api.post("/customers", "o", &new).await;
    assert_eq!((opened.status, &opened.json()["quota_period"]), (201, &json!("week")), "{}", opened.text());
    let line = &api.get("/audit?operation=editCustomer").await["data"];
    let done = line.as_array().expect("lines").iter().rfind(|line| line["request"]["status"] == 200);
    let change = &done.expect("a line")["request"]["changes"];
    assert!(
        change.as_array().is_some_and(|all| all.iter().any(|one| one["field"] == "quota_period")),
        "{line}"
    );
}

#[tokio::test]
async fn every_limit_is_set_and_taken_away() {
    let api = Api::start().await;
    let id = api.key("known", "laptop").await;
    let plain = api.get(&format!("/keys/{id}")).await;
    for (field, value) in [
        ("quota_micro", json!(5)),
        ("models", json!(["ctx-pro"])),
        ("networks", json!(["10.0.0.0/8"])),
        ("expires", json!("2026-11-21T09:30:00.000Z")),
        ("chat_format", json!("bare")),
        ("limits", json!({"requests_per_minute": 7, "tokens_per_minute": null, "concurrency": 2})),
    ] {
        let set = edit(&api, &id, Some("*"), &json!({field: value})).await;
        assert_eq!((set.status, &set.json()[field]), (200, &value), "{field}: {}", set.text());
        assert_eq!(api.get(&format!("/keys/{id}")).await[field], value, "{field}");
        let cleared = edit(&api, &id, Some("*"), &json!({field: null})).await;
        assert_eq!(
            (cleared.status, &cleared.json()[field]),
            (200, &plain[field]),
            "{field}: {}",
            cleared.text()
        );
    }
    let limits = edit(&api, &id, Some("*"), &json!({"limits": {"concurrency": 3}})).await.json();
    assert_eq!(
        limits["limits"],
        json!({"requests_per_minute": null, "tokens_per_minute": null, "concurrency": 3})
    );
    assert_eq!(limits["name"], "laptop");
}

#[tokio::test]
async fn no_editor_overwrites_another() {
    let api = Api::start().await;
    let id = api.key("known", "laptop").await;
    let tag = api.ask("GET", &format!("/keys/{id}"), &[], "").await.header("etag").to_owned();
    assert_eq!(error(&edit(&api, &id, None, &json!({"quota_micro": 1})).await).1, "if_match_required");
    let first = edit(&api, &id, Some(&tag), &json!({"quota_micro": 1})).await;
    assert_eq!((first.status, first.header("etag") == tag), (200, false));
    let second = edit(&api, &id, Some(&tag), &json!({"quota_micro": 2})).await;
    assert_eq!(error(&second).1, "stale");
    assert_eq!(
        (&second.json()["current"]["quota_micro"], second.header("etag")),
        (&json!(1), first.header("etag"))
    );
    assert_eq!(edit(&api, "none", Some("*"), &json!({})).await.status, 404);
    let line = &api.get("/audit?operation=editKey").await["data"];
    assert_eq!(line.as_array().map(Vec::len), Some(4), "{line}");
    let done = line.as_array().expect("lines").iter().find(|line| line["request"]["status"] == 200);
    let change = json!([{"field": "quota_micro", "before": null, "after": 1}]);
    assert_eq!(done.map(|line| &line["request"]["changes"]), Some(&change));
}

#[tokio::test]
async fn a_rotation_makes_one_successor() {
    let api = Api::start().await;
    let id = api.key("known", "laptop").await;
    let path = format!("/keys/{id}/rotate");
    let long = api.post(&path, "r", &json!({"overlap_ms": 604_800_001})).await;
    assert_eq!(error(&long), (400, "invalid_request".to_owned(), Some("overlap_ms".to_owned())));
    let first = api.post(&path, "r", &json!({"overlap_ms": 60_000})).await;
    assert_eq!(first.status, 201, "{}", first.text());
    let first = first.json();
    assert_eq!((&first["key"]["rotated_from"], &first["secret_shown"]), (&json!(id), &json!(true)));
    let again = api.post(&path, "r", &json!({"overlap_ms": 60_000})).await.json();
    assert_eq!((&again["key"]["id"], &again["secret"]), (&first["key"]["id"], &Value::Null));
    let old = api.get(&format!("/keys/{id}")).await;
    assert_eq!(
        (&old["rotated_to"], &old["expires"]),
        (&first["key"]["id"], &json!("1970-01-01T00:01:01.000Z"))
    );
    assert_eq!(api.get("/keys").await["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(api.post(&path, "r2", &json!({})).await.status, 409);
}

/// Without it a key could have limits that no request can meet, or lose its history.
#[tokio::test]
async fn an_impossible_edit_or_rotation_changes_nothing() {
    let api = Api::start().await;
    let id = api.key("known", "laptop").await;
    let before = api.get(&format!("/keys/{id}")).await;
    for (patch, param, part) in [
        (json!({"used_micro": 0}), Some("used_micro"), "used_micro: cannot be edited"),
        (json!({"name": ""}), Some("name"), "name: expected 1 to 100 bytes"),
        (json!({"name": " "}), Some("name"), "name: expected 1 to 100 bytes"),
        (json!({"quota_micro": "x"}), Some("quota_micro"), "quota_micro: "),
        (json!({"quota_micro": -1}), Some("quota"), "quota: expected zero or more"),
        (json!({"expires": "1970-01-01T00:00:00.999Z"}), Some("expires"), "expected a moment in the future"),
        (json!({"models": [""]}), None, "expected a model's id or alias"),
        (json!({"limits": {"concurrency": 0}}), Some("limits.concurrency"), "limits.concurrency: "),
        (json!({"limits": {"rpm": 1}}), Some("limits.rpm"), "unknown field `rpm`"),
        (json!({"model_limits": {"x": {"concurrency": 1}}}), Some("model_limits"), "serves, not \"x\""),
    ] {
        let refused = edit(&api, &id, Some("*"), &patch).await;
        let expected = (400, "invalid_request".to_owned(), param.map(str::to_owned));
        assert_eq!(error(&refused), expected, "{}", refused.text());
        let message = refused.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains(part), "{message}");
        assert_eq!(api.get(&format!("/keys/{id}")).await, before, "{patch}");
    }
    let seven_days = json!({"overlap_ms": 7 * 86_400_000});
    assert_eq!(api.post(&format!("/keys/{id}/rotate"), "r", &seven_days).await.status, 201);
    assert_eq!(api.ask("POST", &format!("/keys/{id}/revoke"), &[], "").await.status, 200);
    assert_eq!(edit(&api, &id, Some("*"), &json!({"name": "late"})).await.status, 409);
}
