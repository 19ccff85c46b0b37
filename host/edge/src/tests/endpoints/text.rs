//! Text endpoints: bodies, events, keep-alives, streams that fail.

use gatehouse_harness::Connection;
use serde_json::{Value, json};

use crate::tests::{TestEdge, secs};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

/// Asks for a stream and reads its head.
async fn open(edge: &TestEdge, path: &str, body: &Value) -> Connection {
    let mut client = edge.connect().await;
    client.send(edge.post(path, &body.to_string())).await;
    let reply = client.read_head().await.expect("a response");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(reply.header("x-accel-buffering"), "no");
    assert!(!reply.header("request-id").is_empty());
    client
}

#[tokio::test]
async fn a_chat_answer_is_wrapped_unless_asked_otherwise() {
    let edge = TestEdge::plain().await;
    for (line, expected) in [
        ("", r#"{"code":200,"data":{"a":  1.0}}"#),
        ("X-Response-Format: wrapped\r\n", r#"{"code":200,"data":{"a":  1.0}}"#),
        ("X-Response-Format: bare\r\n", r#"{"a":  1.0}"#),
    ] {
        let request = edge.post(CHAT, "{}").replace("Host:", &format!("{line}Host:"));
        let reply = edge.ask(request).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, expected));
    }
    let request = edge.post(CHAT, "{}").replace("Host:", "X-Response-Format: xml\r\nHost:");
    let reply = edge.ask(request).await;
    assert_eq!(reply.status, 400);
    assert!(reply.message().contains("expected wrapped or bare, got \"xml\""), "{reply:?}");
    let reply = edge.call(MESSAGES, "{}").await;
    assert_eq!(reply.body, r#"{"a":  1.0}"#);
}

#[tokio::test]
async fn the_cause_of_a_failure_decides_the_status() {
    let edge = TestEdge::plain().await;
    for (word, status, code, after, expected_message) in [
        ("invalid", 400, "invalid_request", "", "the provider's words"),
        ("model", 404, "model_not_found", "", "unknown model"),
        ("balance", 402, "payment_required", "", "insufficient balance"),
        ("rate", 429, "rate_limited", "60", "the provider's words"),
        ("account", 502, "upstream_error", "", "the gateway's account"),
        ("upstream", 502, "upstream_error", "", "the provider's words"),
        ("timeout", 502, "upstream_timeout", "", "in time"),
        ("unknown", 503, "upstream_unavailable", "1", "retry in a moment"),
        ("drain", 503, "upstream_unavailable", "5", "restarting"),
        ("internal", 500, "internal_error", "", "could not answer"),
    ] {
        let body = json!({"refuse": word}).to_string();
        let reply = edge.call(MESSAGES, &body).await;
        let found = reply.json();
        assert_eq!((reply.status, &found["error"]["code"]), (status, &json!(code)), "{word}: {reply:?}");
        assert_eq!(reply.header("retry-after"), after, "{word}");
        // Refused credentials stay refused, the client's and the operator's.
        let is_final = status < 429 || word == "account";
        assert_eq!(reply.header("x-should-retry"), if is_final { "false" } else { "" }, "{word}");
        assert!(reply.message().contains(expected_message), "{word}: {reply:?}");
        let id = found["request_id"].as_str().unwrap();
        assert!(reply.message().ends_with(&format!("(request id: {id})")), "{reply:?}");
        assert_eq!(edge.call(CHAT, &body).await.refusal("code"), (status, json!(status)), "{word}");
    }
}

/// Without it a client of a system that marks its texts is told that its JSON cannot be read.
#[tokio::test]
async fn a_mark_before_a_body_is_passed_over() {
    let edge = TestEdge::plain().await;
    let marked = format!("\u{feff}{}", json!({"refuse": "balance"}));
    for path in [CHAT, MESSAGES, "/v1/responses", "/v1/videos", "/v1/images/generations"] {
        let reply = edge.call(path, &marked).await;
        let plain = edge.call(path, &marked.replace('\u{feff}', "")).await;
        assert_eq!(reply.status, plain.status, "{path}: {reply:?}");
        assert!(path.contains("image") || path.contains("video") || reply.status == 402, "{path}: {reply:?}");
    }
}

#[tokio::test]
async fn events_are_passed_on_in_order() {
    let edge = TestEdge::plain().await;
    let events = json!({"events": [{"event": "message_start", "data": {"n": 1}}, {"data": 2}]});
    let mut client = open(&edge, MESSAGES, &events).await;
    let expected = "event: message_start\ndata: {\"n\":1}\n\ndata: 2\n\n";
    assert_eq!(client.read_until("data: 2\n\n").await, expected);
    client.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_an_error_event() {
    let edge = TestEdge::plain().await;
    let events = json!({"events": [{"event": "a", "data": 1}, {"fail": "upstream"}]});
    let mut client = open(&edge, MESSAGES, &events).await;
    let text = client.read_until("}\n\n").await;
    let last = text.split("event: error\ndata: ").nth(1).expect("an error event");
    let error: Value = serde_json::from_str(last.trim()).unwrap();
    assert_eq!((&error["type"], &error["error"]["code"]), (&json!("error"), &json!("upstream_error")));
    assert_eq!(error["error"]["details"], json!({"error_code": "upstream_error"}));
    assert!(
        error["error"]["message"].as_str().unwrap().starts_with("the provider's words (request id: req_")
    );

    let mut client = open(&edge, CHAT, &events).await;
    let text = client.read_until("}\n\n").await;
    let last = text.rsplit("data: ").next().unwrap();
    let error: Value = serde_json::from_str(last.trim()).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["type"]), (&json!(502), &json!("bad_gateway")));
}

#[tokio::test]
async fn keep_alives_follow_the_protocol() {
    let edge = TestEdge::plain().await;
    let started = json!({"open": true, "events": [{"event": "a", "data": 1}]});
    for (path, body, expected) in [
        (CHAT, &started, ": ping\n\n"),
        ("/v1/responses", &started, ": ping\n\n"),
        (MESSAGES, &started, "event: ping\ndata: {\"type\": \"ping\"}\n\n"),
        (MESSAGES, &json!({"open": true, "events": []}), ": ping\n\n"),
    ] {
        let mut client = open(&edge, path, body).await;
        if body == &started {
            client.read_until("data: 1\n\n").await;
        }
        for _ in 0..2 {
            edge.clock.armed(secs(15)).await;
            edge.clock.advance(secs(15));
            assert_eq!(client.read_until(expected).await, expected);
        }
    }
}

#[tokio::test]
async fn a_client_that_disconnects_ends_the_stream() {
    let edge = TestEdge::plain().await;
    let client = open(&edge, CHAT, &json!({"open": true, "events": [{"data": 1}]})).await;
    let sender = edge.backend.streams.lock().unwrap().pop().unwrap();
    drop(client);
    sender.closed().await;
}
