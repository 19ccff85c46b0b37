//! Requests of the process itself: as a key without its secret, and prices.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{ChatFormat, Key, UnixMs};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::tests::TestEdge;

fn key(edge: &TestEdge) -> Arc<Key> {
    Arc::new(edge.backend.keys.lock().unwrap()[0].clone())
}

async fn ask(edge: &TestEdge, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(Bytes::from(body.to_string())).unwrap();
    let answer = edge.server.local().respond(key(edge), request, "http://self".to_owned()).await;
    assert!(answer.headers().contains_key("x-request-id"), "{path}");
    let allowed = answer.headers().get("allow").map(|allowed| allowed.to_str().unwrap());
    let expected = (answer.status() == StatusCode::METHOD_NOT_ALLOWED).then_some("POST, OPTIONS");
    assert_eq!(allowed, expected, "{path}");
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn a_key_without_its_secret_has_its_rules_but_for_its_networks() {
    let edge = TestEdge::plain().await;
    edge.backend.change_key(|key| {
        key.networks = vec!["10.9.9.9/32".parse().unwrap()];
        // Its own clients read pictures; an operator's page reads a receipt.
        key.chat_format = ChatFormat::Bare;
    });
    let (post, body) = (Method::POST, json!({"model": "ctx-pro", "prompt": "a kite"}));
    let images = "/v1/images/generations";
    let (status, receipt) = ask(&edge, post.clone(), images, &body).await;
    assert_eq!((status, &receipt["data"][0]["status"]), (200, &json!("submitted")), "{receipt}");
    assert_eq!(edge.backend.submitted.lock().unwrap().len(), 1);
    for (method, path, expected) in
        [(post.clone(), "/v1/none", 404), (Method::GET, images, 405), (Method::GET, "/v1/models", 200)]
    {
        assert_eq!(ask(&edge, method, path, &json!(null)).await.0, expected, "{path}");
    }
    edge.backend.change_key(|key| key.revoked = Some(UnixMs(1)));
    let (status, refused) = ask(&edge, post, images, &body).await;
    assert_eq!((status, &refused["error"]["reason"]), (401, &json!("invalid_api_key")), "{refused}");

    // Every one is in the log, with its key, as if it had come over a connection.
    let lines = edge.server.local().log().newest(None, 10, |_| true).lines;
    let shown: Vec<(&str, u16)> = lines.iter().rev().map(|(_, line)| (line.route, line.status)).collect();
    assert_eq!(shown, [(images, 200), ("-", 404), ("-", 405), ("/v1/models", 200), (images, 401)]);
    assert_eq!(lines[4].1.key, Some(key(&edge).id.clone()));
}

/// The limit of requests under way counts those of an operator too, until their answer has been read.
#[tokio::test]
async fn a_request_counts_against_its_key_until_its_answer_is_read() {
    let edge = TestEdge::with("limits = { requests_per_key = 1 }").await;
    let ask = || {
        let request = Request::get("/v1/models").body(Bytes::new()).unwrap();
        let local = edge.server.local();
        let key = key(&edge);
        async move { local.respond(key, request, "http://self".to_owned()).await }
    };
    let first = ask().await;
    assert_eq!((first.status(), ask().await.status()), (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS));
    drop(first);
    assert_eq!(ask().await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_price_is_told_without_a_key() {
    let edge = TestEdge::plain().await;
    let local = edge.server.local();
    let body = |value: Value| Bytes::from(value.to_string());
    let image = json!({"model": "ctx-pro", "prompt": "a kite", "dry_run": false});
    assert!(local.price("images.generate", body(image), None).await.is_ok());
    let text = json!({"model": "m", "messages": []});
    assert!(local.price("/v1/messages", body(text), None).await.unwrap().at_most);
    assert_eq!(edge.backend.submitted.lock().unwrap().len(), 0, "nothing was made");
    for (target, sent, status, param) in [
        ("/v1/tasks", json!({}), 400, Some("path")),
        ("images.generate", json!({"model": 7}), 400, Some("model")),
        ("images.generate", json!([]), 400, None),
        ("/v1/videos/nothing/remix", json!({"model": "ctx-pro"}), 404, None),
    ] {
        let error = local.price(target, body(sent), None).await.unwrap_err();
        assert_eq!((error.status, error.param.as_deref()), (status, param), "{target}: {error}");
    }
}
