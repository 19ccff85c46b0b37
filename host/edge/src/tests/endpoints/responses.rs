//! Responses: the envelope of errors, streams that fail, and what was kept.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::tests::TestEdge;
use crate::tests::support::backend::LONG;

const PATH: &str = "/v1/responses";

/// The frames of a stream: event names and data.
fn frames(text: &str) -> Vec<(String, Value)> {
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty() && !frame.starts_with(':'));
    let frame = |frame: &str| {
        let (name, data) = frame.split_once("\ndata: ").expect("a name and data");
        (name.trim_start_matches("event: ").to_owned(), serde_json::from_str(data).expect("JSON"))
    };
    frames.map(frame).collect()
}

#[tokio::test]
async fn an_error_has_the_shape_of_openai() {
    let edge = TestEdge::plain().await;
    let invalid = "invalid_request_error";
    for (word, status, kind, code, param) in [
        ("field", 400, invalid, Value::Null, json!("n")),
        ("response", 400, invalid, json!("previous_response_not_found"), json!("previous_response_id")),
        ("item", 404, "not_found_error", json!("not_found"), json!("input")),
        ("balance", 402, "payment_required", json!("insufficient_quota"), Value::Null),
        ("rate", 429, "rate_limit_error", json!("rate_limit_exceeded"), Value::Null),
        ("memory", 429, "rate_limit_error", json!("rate_limit_exceeded"), Value::Null),
        ("large", 413, invalid, json!("request_too_large"), Value::Null),
        ("upstream", 502, "bad_gateway", json!("upstream_error"), Value::Null),
    ] {
        let reply = edge.call(PATH, &json!({"refuse": word}).to_string()).await;
        let error = reply.json()["error"].clone();
        assert_eq!(reply.status, status, "{word}: {reply:?}");
        let found = [&error["type"], &error["code"], &error["param"]];
        assert_eq!(found, [&json!(kind), &code, &param], "{word}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{word}: {reply:?}");
    }
    // A response is never wrapped.
    assert_eq!(edge.call(PATH, "{}").await.body, r#"{"a":  1.0}"#);
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_what_the_client_has() {
    let edge = TestEdge::plain().await;
    let created = json!({"response": {"id": "resp_1", "status": "in_progress", "error": null, "output": []}});
    let events = json!({"events": [
        {"event": "response.created", "data": created},
        {"event": "response.in_progress", "data": {}},
        {"event": "response.output_item.done", "data": {"item": {"id": "msg_1"}}},
        {"fail": "upstream"},
    ]});
    let reply = edge.call(PATH, &events.to_string()).await;
    let frames_found = frames(&reply.text());
    let (name, data) = frames_found.last().expect("a frame");
    let error = json!({"code": "server_error", "message": "the provider's words", "type": "bad_gateway", "param": null});
    let response = json!({"id": "resp_1", "status": "failed", "output": [{"id": "msg_1"}], "error": error});
    assert_eq!((name.as_str(), &data["response"]), ("response.failed", &response));
    assert_eq!((&data["type"], &data["sequence_number"]), (&json!("response.failed"), &json!(3)));

    // Nothing has begun that could fail.
    let reply = edge.call(PATH, &json!({"events": [{"fail": "rate"}]}).to_string()).await;
    let frames = frames(&reply.text());
    let error = json!({"code": "rate_limit_exceeded", "message": "the provider's words",
        "type": "rate_limit_error", "param": null});
    let data = json!({"type": "error", "sequence_number": 0, "error": error});
    assert_eq!(frames, [("error".to_owned(), data)]);
}

#[tokio::test]
async fn a_kept_response_is_read_listed_and_forgotten() {
    let edge = TestEdge::plain().await;
    let get = async |path: &str| edge.read(&format!("{PATH}{path}")).await;
    assert_eq!(get("/resp_1").await.body, r#"{"id":"resp_1"}"#);
    // Its stream once more, or the rest of it.
    for (query, numbers) in [
        ("stream=true", vec![0, 1, 2]),
        ("stream=true&starting_after=1", vec![2]),
        ("stream=true&starting_after=2", vec![]),
    ] {
        let reply = get(&format!("/resp_1?{query}")).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "text/event-stream; charset=utf-8"));
        let found: Vec<(String, Value)> = frames(&reply.text());
        let expected = numbers.into_iter().map(|number| ("response.a".to_owned(), json!(number)));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{query}");
    }
    for (query, param) in [
        ("stream=yes", "stream"),
        ("stream=true&starting_after=-1", "starting_after"),
        ("stream=true&starting_after=9", "starting_after"),
    ] {
        assert_eq!(get(&format!("/resp_1?{query}")).await.refusal("param"), (400, json!(param)), "{query}");
    }
    assert_eq!(get("/resp_2?stream=true").await.status, 404);
    let reply = get("/resp_2").await;
    assert_eq!((reply.status, reply.message()), (404, "Response with id 'resp_2' not found.".to_owned()));

    let first = json!({"id": "item_100", "type": "message", "role": "user", "content": "a"});
    let second = json!({"id": "msg_b", "type": "message", "role": "user", "content": "b"});
    for (query, data, more) in [
        ("", json!([second, first]), false),
        ("?order=asc", json!([first, second]), false),
        ("?limit=1", json!([second]), true),
        ("?limit=1&order=asc&after=item_100", json!([second]), false),
    ] {
        let page = get(&format!("/resp_1/input_items{query}")).await.json();
        assert_eq!((&page["data"], &page["has_more"]), (&data, &json!(more)), "{query}");
        assert_eq!((&page["first_id"], &page["object"]), (&data[0]["id"], &json!("list")));
    }
    for query in ["?limit=0", "?limit=101", "?order=up", "?after=none"] {
        assert_eq!(get(&format!("/resp_1/input_items{query}")).await.status, 400, "{query}");
    }

    let reply = edge.delete(&format!("{PATH}/resp_1")).await;
    assert_eq!(reply.json(), json!({"id": "resp_1", "object": "response", "deleted": true}));
    assert_eq!(edge.delete(&format!("{PATH}/resp_2")).await.status, 404);
}

/// Without it some hundred clients that do not read have as many long responses in memory.
#[tokio::test]
async fn a_kept_response_counts_until_its_client_has_read_it() {
    let edge = TestEdge::with("limits = { bodies_mib = 4 }").await;
    let key = Arc::new(edge.backend.keys.lock().unwrap()[0].clone());
    let paths = ["", "?stream=true", "/input_items"].map(|rest| format!("{PATH}/resp_long{rest}"));
    for path in &paths {
        let request = Request::get(path.as_str()).body(Bytes::new()).unwrap();
        let response = edge.server.local().respond(Arc::clone(&key), request, String::new()).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert!(edge.server.body_bytes() >= LONG, "{path}");
        drop(response);
        assert_eq!(edge.server.body_bytes(), 0, "{path}");
    }
    // Another request has nearly all there is.
    let mut first = edge.connect().await;
    let body = format!("{{\"refuse\":\"hang\"{}}}", " ".repeat(900_000));
    first.send(edge.post("/v1/images/generations", &body)).await;
    edge.until_submitted().await;
    for path in &paths {
        let reply = edge.read(path).await;
        assert_eq!((reply.status, reply.header("retry-after")), (503, "1"), "{path}: {reply:?}");
    }
    assert_eq!(edge.read(&format!("{PATH}/resp_1")).await.status, 200);
}

/// Were it a 429, its client would try for ever.
#[tokio::test]
async fn what_never_fits_is_too_large() {
    let edge = TestEdge::with("limits = { bodies_mib = 3 }").await;
    let reply = edge.read(&format!("{PATH}/resp_long/input_items")).await;
    assert_eq!(reply.status, 413, "{reply:?}");
    assert!(reply.message().ends_with("expected at most 3145728 bytes of memory"), "{reply:?}");
    assert_eq!(edge.read(&format!("{PATH}/resp_long")).await.status, 200);
}
