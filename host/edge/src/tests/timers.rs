//! Clients that are slow on purpose: every wait has an end, and the clock decides it.

use std::sync::atomic::Ordering;

use crate::tests::Stand;

const LIVE: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    stand.clock.armed(10).await;
    stand.clock.advance(10);
    assert!(client.closes().await);
}

#[tokio::test]
async fn a_head_that_never_ends_is_closed_however_often_it_moves() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    assert_eq!(client.ask(LIVE).await.status, 200);
    client.send("GET /livez HTTP/1.1\r\n").await;
    stand.clock.armed(10).await;
    stand.clock.advance(9);
    client.send("Host: a\r\n").await;
    stand.clock.advance(1);
    assert!(client.closes().await);
}

#[tokio::test]
async fn a_body_that_pauses_gets_a_408() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    let request = stand.post("/v1/images/generations", r#"{"model":"ctx-pro"}"#);
    client.send(&request[..request.len() - 5]).await;
    stand.clock.armed(15).await;
    stand.clock.advance(15);
    let reply = client.read().await.unwrap();
    assert_eq!((reply.status, reply.header("x-should-retry")), (408, None));
    assert_eq!(reply.json()["error"]["reason"], "request_timeout");
    assert!(client.closes().await);
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_and_one_with_a_request_is_not() {
    let stand = Stand::plain().await;
    let (mut idle, mut waiting) = (stand.connect().await, stand.connect().await);
    assert_eq!(idle.ask(LIVE).await.status, 200);
    let task = stand.house.put(1, |_| {});
    waiting.send(stand.get(&format!("/v1/tasks/{task}"), "Prefer: wait=60\r\n")).await;
    while stand.house.look_ups.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    // The first look sees the request of a moment ago, the second sees none since.
    for _ in 0..2 {
        stand.clock.armed_times(75, 2).await;
        stand.clock.advance(75);
    }
    assert!(idle.closes().await);
    stand.house.put(1, super::fake::complete);
    assert_eq!(waiting.read().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_dropped() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    client.send("GET /v1/media/big.mp4?expires=9&signature=good HTTP/1.1\r\nHost: a\r\n\r\n").await;
    stand.clock.armed(60).await;
    stand.clock.advance(60);
    // What had been sent before is read; then the connection ends long before the file does.
    let reply = client.read_head().await.unwrap();
    assert_eq!(reply.header("content-length"), Some("268435456"));
    let mut read = 0;
    while !client.closes_after(&mut read).await {}
    assert!(read < 200 << 20, "{read} bytes came");
}
