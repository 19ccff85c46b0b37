//! `dry_run` in a body: the host takes it out, and answers with the price.

use serde_json::json;

use crate::tests::TestEdge;

#[tokio::test]
async fn a_dry_run_answers_the_price_and_submits_nothing() {
    let edge = TestEdge::plain().await;
    let priced = json!({
        "dry_run": true, "model": "ctx-pro", "sum": 4.5, "at_most": false, "estimated_time": 8,
        "charges": [{
            "price_keys": ["ctx-pro@4k", "ctx-pro"], "price_key": "ctx-pro", "unit": "unit", "quantity": 3,
            "unit_price": 1.5, "sum": 4.5,
        }],
        "failure": {"type": "invalid_request_error", "code": "task_failed", "message": "no picture"},
    });
    for path in ["/v1/images/generations", "/v1/clip2/private-avatar", "/v1/journey/generations/zoom"] {
        let reply = edge.call(path, r#"{"dry_run": true, "prompt": "x"}"#).await;
        assert_eq!((reply.status, reply.json()), (200, json!({"code": 200, "data": priced})), "{path}");
    }
    let refused = edge.call("/v1/images/generations", r#"{"dry_run": true, "refuse": "balance"}"#).await;
    assert_eq!(refused.status, 402);
    assert!(edge.backend.submitted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn text_has_an_upper_estimate_in_the_form_of_its_endpoint() {
    let edge = TestEdge::plain().await;
    let charge = json!({
        "price_keys": ["ctx-pro@4k", "ctx-pro"], "price_key": "ctx-pro", "unit": "million input tokens",
        "quantity": 1.5, "unit_price": 1.5, "sum": 4.5,
    });
    let priced = json!({
        "dry_run": true, "model": "ctx-pro", "sum": 4.5, "at_most": true, "estimated_time": 8, "charges": [charge],
    });
    let body = r#"{"dry_run": true, "stream": true}"#;
    for path in ["/v1/messages", "/v1/responses"] {
        assert_eq!(edge.call(path, body).await.json(), priced, "{path}");
    }
    let chat = edge.post("/v1/chat/completions", body);
    assert_eq!(edge.ask(chat.clone()).await.json(), json!({"code": 200, "data": priced}));
    let bare = chat.replace("Host:", "X-Response-Format: bare\r\nHost:");
    assert_eq!(edge.ask(bare).await.json(), priced);
}

#[tokio::test]
async fn anything_but_true_and_false_is_refused() {
    let edge = TestEdge::plain().await;
    for (path, value) in [
        ("/v1/images/generations", "1"),
        ("/v1/journey/generations", "null"),
        ("/v1/chat/completions", "\"true\""),
        ("/v1/responses", "[]"),
    ] {
        let reply = edge.call(path, &format!(r#"{{"dry_run": {value}}}"#)).await;
        assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("dry_run")), "{path}");
        assert!(reply.message().contains("expected true or false, got"), "{path}: {}", reply.message());
    }
    let real = edge.call("/v1/images/generations", r#"{"dry_run": false}"#).await;
    assert_eq!((real.status, real.json()["data"][0]["status"].as_str()), (200, Some("submitted")));
    assert_eq!(edge.backend.submitted.lock().unwrap()[0].body.bytes(), "{}");
}
