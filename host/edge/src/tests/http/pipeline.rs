//! What every response carries, and wrong paths and methods.

use crate::tests::{TestEdge, ask};

#[tokio::test]
async fn every_answer_carries_its_request_id_three_times() {
    let edge = TestEdge::plain().await;
    for request in [edge.get("/v1/models", ""), edge.get("/nowhere", ""), edge.post("/v1/messages", "{}")] {
        let reply = ask(&edge, request).await;
        let id = reply.header("x-gateway-request-id");
        assert!(id.starts_with("req_"), "{reply:?}");
        assert_eq!((reply.header("x-request-id"), reply.header("request-id")), (id, id));
    }
}

#[tokio::test]
async fn wrong_paths_and_methods_are_told_the_right_ones() {
    let edge = TestEdge::plain().await;
    for (path, right, base) in [
        ("/v1/v1/chat/completions", "http://gate.test/v1/chat/completions", "http://gate.test/v1,"),
        ("/chat/completions", "http://gate.test/v1/chat/completions", "http://gate.test/v1,"),
        ("/messages", "http://gate.test/v1/messages", "http://gate.test (request id"),
        ("/v1/v1/messages", "http://gate.test/v1/messages", "http://gate.test (request id"),
        ("/images/generations", "http://gate.test/v1/images/generations", "http://gate.test/v1,"),
    ] {
        let reply = ask(&edge, edge.post(path, "{}")).await;
        assert_eq!(reply.status, 404);
        assert!(reply.message().contains(&format!("the base URL is {base}")), "{reply:?}");
        assert!(reply.message().contains(right), "{reply:?}");
    }
    let reply = ask(&edge, edge.get("/v1/images/generations", "")).await;
    assert_eq!((reply.status, reply.header("allow")), (405, "POST, OPTIONS"));
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let edge = TestEdge::plain().await;
    let mut client = edge.connect().await;
    let models = edge.get("/v1/models", "");
    let length = client.ask(&models).await.body.len().to_string();
    for (request, status, length) in [
        (models.replacen("GET", "HEAD", 1), 200, length.as_str()),
        ("HEAD /v1/media/m_1.png?expires=9&signature=good HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 200, "10"),
    ] {
        client.send(request).await;
        let reply = client.read_head().await.unwrap();
        assert_eq!((reply.status, reply.header("content-length")), (status, length));
    }
    assert_eq!(client.ask(models).await.status, 200);
}
