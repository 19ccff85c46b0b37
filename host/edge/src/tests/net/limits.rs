//! Limits on connections of one client subnet, on requests of a customer, and on work on its bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_harness::until;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;

use super::http2::Body;
use crate::http::body::{STREAMED, WORKED_ON};
use crate::tests::{LIVE, TestEdge};

#[tokio::test]
async fn connections_of_one_address_are_limited() {
    for edge in TestEdge::both("limits = { connections_per_ip = 2 }").await {
        let (mut first, mut second, mut third) =
            (edge.client().await, edge.client().await, edge.client().await);
        assert_eq!(first.ask(LIVE).await.status, 200);
        assert_eq!(second.ask(LIVE).await.status, 200);
        // It is told why, in the form of its path, and closed; it may come again.
        let head = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
        let refused = third.ask(format!("{head}Content-Length: 200000\r\n\r\n{}", "x".repeat(200_000))).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
        assert_eq!(refused.json()["error"]["code"], "rate_limited");
        assert!(third.closes().await);
    }
    // A trusted proxy carries many clients.
    let edge =
        TestEdge::with("trusted_proxies = [\"127.0.0.0/8\"]\nlimits = { connections_per_ip = 1 }").await;
    let (mut first, mut second) = (edge.connect().await, edge.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    assert_eq!(second.ask(LIVE).await.status, 200);
}

/// HTTP/2 has no `Connection: close`. Without a GOAWAY a refused connection keeps its place, and its client asks on in vain.
#[tokio::test]
async fn a_refused_http2_connection_ends_after_its_answer() {
    for edge in TestEdge::both("cleartext_http2 = true\nlimits = { connections_per_ip = 1 }").await {
        let mut first = edge.client().await;
        assert_eq!(first.ask(LIVE).await.status, 200);
        let stream = edge.stream(b"h2").await;
        let (mut sender, connection) =
            http2::handshake::<_, _, Body>(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::get("https://gate.test/v1/models").body(Body::default()).unwrap();
        let refused = sender.send_request(request).await.unwrap();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let body = refused.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(b"{"), "the answer is whole");
        connection.await.unwrap().unwrap();
        assert!(sender.ready().await.is_err());
    }
}

/// Several keys of one customer have a limit together: more keys are no larger part of the gateway.
#[tokio::test]
async fn requests_of_one_customer_are_limited_over_all_its_keys() {
    let edge = TestEdge::with("limits = { requests_per_key = 1, requests_per_customer = 2 }").await;
    let keys = [(1, "payer"), (2, "payer"), (3, "another")].map(|(number, of)| edge.add_key(number, of));
    let task = edge.backend.put(1, |_| {});
    let waits = |key: &str| {
        format!(
            "GET /v1/tasks/{task} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\nPrefer: wait=60\r\n\r\n"
        )
    };
    let mut held = Vec::new();
    for key in [&edge.key, &keys[0]] {
        let mut client = edge.connect().await;
        client.send(waits(key)).await;
        held.push(client);
    }
    edge.until_look_ups(2).await;
    let ask = async |key: &str| {
        let line = format!("GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n");
        edge.ask(line).await
    };
    let refused = ask(&keys[1]).await;
    assert_eq!((refused.status, refused.header("retry-after").is_empty()), (429, false));
    let message = "the keys of this account have 2 requests under way, the most there may be at once";
    assert_eq!(refused.json()["error"]["message"], message);
    assert_eq!(ask(&keys[2]).await.status, 200, "another customer is not concerned");
}

/// The budget is one of memory. Bytes on the wire were a third of what is held, and a body from which a member was taken out
/// was not counted at all.
#[tokio::test]
async fn a_body_counts_as_what_it_takes_until_its_request_is_over() {
    let edge = TestEdge::plain().await;
    let prompt = "x".repeat(100_000);
    let body = json!({"model": "ctx-pro", "refuse": "hang", "dry_run": false, "prompt": prompt}).to_string();
    let mut client = edge.connect().await;
    client.send(edge.post("/v1/images/generations", &body)).await;
    edge.until_submitted().await;
    assert_eq!(edge.server.body_bytes(), body.len() * WORKED_ON);
    drop(client);
    edge.backend.submitted.lock().unwrap().clear();
    until("it is given up with its client", async || edge.server.body_bytes() == 0).await;

    let body = json!({"prompt": prompt, "events": [{"data": 1}], "open": true}).to_string();
    let mut client = edge.connect().await;
    client.send(edge.post("/v1/messages", &body)).await;
    assert_eq!(client.read_head().await.unwrap().status, 200);
    assert_eq!(edge.server.body_bytes(), body.len() * STREAMED);
    edge.backend.streams.lock().unwrap().clear();
    until("the stream has ended", async || edge.server.body_bytes() == 0).await;
}

/// Long bodies that end in a 400 are worked on in turns of customers: without them each of these 64 would be parsed before the
/// other customer's request is looked at.
#[tokio::test]
async fn long_bodies_of_one_customer_do_not_go_before_another() {
    const GREEDY: usize = 64;
    let edge = TestEdge::plain().await;
    let other = edge.add_key(1, "another");
    let long = edge.post("/v1/images/generations", &format!("{{\"a\":\"{}\"", "x".repeat(200 << 10)));
    let mut greedy = Vec::new();
    for _ in 0..GREEDY {
        let mut client = edge.connect().await;
        client.send(&long[..long.len() - 1]).await;
        greedy.push(client);
    }
    until("all but the last bytes are read", async || {
        edge.server.body_bytes() >= GREEDY * (200 << 10) * WORKED_ON
    })
    .await;
    let mut client = edge.connect().await;
    for client in &mut greedy {
        client.send("\"").await;
    }
    client.send(format!("GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {other}\r\n\r\n")).await;
    let answered = Arc::new(AtomicUsize::new(0));
    let reading: Vec<_> = greedy
        .into_iter()
        .map(|mut client| {
            let answered = Arc::clone(&answered);
            tokio::spawn(async move {
                let status = client.read().await.map(|response| response.status);
                answered.fetch_add(1, Ordering::SeqCst);
                status
            })
        })
        .collect();
    assert_eq!(client.read().await.unwrap().status, 200);
    let before = answered.load(Ordering::SeqCst);
    assert!(before < GREEDY / 2, "{before} of {GREEDY} came first");
    for reads in reading {
        assert_eq!(reads.await.unwrap(), Some(400));
    }
}
