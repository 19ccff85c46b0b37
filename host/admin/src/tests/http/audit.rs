//! The audit record: a line for every request that is not safe, done or refused, and none for a read.

use serde_json::{Value, json};

use super::{Api, error};

async fn lines(api: &Api, filter: &str) -> Vec<Value> {
    api.get(&format!("/audit?{filter}")).await["data"].as_array().expect("lines").clone()
}

#[tokio::test]
async fn what_changes_leaves_one_line_with_its_change() {
    let api = Api::start().await;
    api.customer("acme", 7).await;
    let id = api.key("acme", "laptop").await;
    api.ask("POST", &format!("/keys/{id}/revoke"), &[], "").await;
    api.ask("POST", "/config/reload", &[], "").await;
    for path in ["/customers", "/keys", "/audit", "/doctor"] {
        api.get(path).await;
    }

    let all = lines(&api, "").await;
    let told: Vec<_> = all
        .iter()
        .map(|line| (line["request"]["operation"].clone(), line["request"]["object"].clone()))
        .collect();
    let expected = [
        ("reloadConfig", "config".to_owned()),
        ("revokeKey", format!("keys/{id}")),
        ("createKey", format!("keys/{id}")),
        ("deposit", "customers/acme".to_owned()),
        ("createCustomer", "customers/acme".to_owned()),
    ];
    assert_eq!(told, expected.map(|(operation, object)| (json!(operation), json!(object))));
    for line in &all {
        let request = &line["request"];
        assert_eq!((&request["who"], &request["role"]), (&json!("operator token"), &json!("operator")));
        assert_eq!((&request["address"], &request["reason"]), (&json!("127.0.0.1"), &json!("")));
        assert!(request["id"].as_str().is_some_and(|id| id.starts_with("req_")), "{line}");
    }
    let changes = &all[1]["request"]["changes"];
    let state = changes.as_array().expect("changes").iter().find(|change| change["field"] == "state");
    assert_eq!(state, Some(&json!({"field": "state", "before": "active", "after": "revoked"})));
    assert!(all[3]["request"]["changes"].to_string().contains("amount_micro"), "{}", all[3]);

    assert_eq!(lines(&api, "operation=createKey&operation=deposit").await.len(), 2);
    assert_eq!(lines(&api, "object=customers").await.len(), 2);
    assert_eq!(lines(&api, "object=custom").await.len(), 0);
    assert_eq!(lines(&api, "who=nobody").await.len(), 0);
    assert_eq!(lines(&api, "created_after=1970-01-01T00:00:02Z").await.len(), 0);
    assert_eq!(lines(&api, "created_before=1970-01-01T00:00:02Z").await.len(), 5);
}

/// A page that is refused before it comes to the store would otherwise leave no trace.
#[tokio::test]
async fn refused_requests_leave_a_line_too() {
    let api = Api::start().await;
    let typed = ("content-type", "application/json");
    // Nothing is kept of a request that is refused, so all may have the same key.
    let operator = [("authorization", api.operator.as_str()), typed, ("idempotency-key", "k")];
    let viewer = [("authorization", api.viewer.as_str()), typed];
    let plain = [typed];
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(65));
    let past = r#"{"customer":"known","name":"n","expires":"1970-01-01T00:00:00Z"}"#;
    let own = "operator token";
    for (headers, path, body, status, who, operation) in [
        (&plain[..], "/customers", r#"{"id":"a"}"#, 401, "", ""),
        (&viewer, "/customers", r#"{"id":"a"}"#, 403, "viewer token", "createCustomer"),
        (&operator, "/customers", r#"{"id":"known"}"#, 409, own, "createCustomer"),
        (&operator, "/customers?x=1", r#"{"id":"a"}"#, 400, own, "createCustomer"),
        (&operator, "/customers", "{", 400, own, "createCustomer"),
        (&operator, "/customers", r#"{"id":"a b"}"#, 400, own, "createCustomer"),
        (&operator, "/customers", r#"{"id":""}"#, 400, own, "createCustomer"),
        (&operator, "/customers", &long, 400, own, "createCustomer"),
        (&operator, "/customers/known/deposits", r#"{"amount_micro":0}"#, 400, own, "deposit"),
        (&operator, "/customers/known/deposits", r#"{"amount_micro":-1}"#, 400, own, "deposit"),
        (&operator, "/customers/nobody/deposits", r#"{"amount_micro":1}"#, 404, own, "deposit"),
        (&operator, "/customers/known/withdrawals", r#"{"amount_micro":1}"#, 409, own, "withdraw"),
        (&operator, "/keys", r#"{"customer":"nobody","name":"n"}"#, 404, own, "createKey"),
        (&operator, "/keys", r#"{"customer":"known","name":" "}"#, 400, own, "createKey"),
        (&operator, "/keys", r#"{"customer":"known","name":"a\nb"}"#, 400, own, "createKey"),
        (&operator, "/keys", r#"{"customer":"known","name":"n","quota_micro":-1}"#, 400, own, "createKey"),
        (&operator, "/keys", r#"{"customer":"known","name":"n","models":[""]}"#, 400, own, "createKey"),
        (&operator, "/keys", past, 400, own, "createKey"),
        (&operator, "/keys/x/revoke", "", 404, own, "revokeKey"),
        (&operator, "/nothing", "", 404, own, ""),
    ] {
        let before = lines(&api, "").await.len();
        let answer = api.send("POST", path, headers, body).await;
        let (found, ..) = error(&answer);
        assert_eq!(found, status, "{path} {body}");
        let after = lines(&api, "").await;
        assert_eq!(after.len(), before + 1, "{path} {body}");
        let request = &after[0]["request"];
        assert_eq!((&request["status"], &request["who"]), (&json!(status), &json!(who)), "{request}");
        assert_eq!(request["operation"], operation, "{request}");
        assert_eq!(request["reason"], answer.json()["error"]["message"], "{request}");
        assert_eq!(request["id"], answer.header("x-request-id"), "{request}");
    }
}

#[tokio::test]
async fn the_record_is_exported_whole() {
    let api = Api::start().await;
    for number in 0..3 {
        api.customer(&format!("c{number}"), 0).await;
    }
    let memo = json!({"amount_micro": 1, "memo": "=HYPERLINK(\"x\"), \"quoted\""});
    assert_eq!(api.post("/customers/c0/deposits", "k", &memo).await.status, 201);
    let bearer = [("authorization", api.viewer.as_str())];
    let answer = api.send("GET", "/audit.csv?object=customers", &bearer, "").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/csv; charset=utf-8"));
    let text = answer.text();
    let rows: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(rows.len(), 1 + 4, "{text}");
    assert!(rows[0].starts_with("number,at,task,who,"), "{text}");
    assert!(
        rows[1].starts_with(
            "3,1970-01-01T00:00:01.000Z,,operator token,operator,127.0.0.1,deposit,customers/c0,201,"
        ),
        "{text}"
    );
    let none = api.send("GET", "/audit.csv?created_after=2026-01-01T00:00:00Z", &bearer, "").await;
    assert_eq!(none.text().lines().count(), 1);
}
