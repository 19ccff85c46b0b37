//! Slow clients, in the clear and over TLS: every wait has a time limit, exact to the second of a manual clock.

use crate::tests::{LIVE, TestEdge, secs};

#[tokio::test]
async fn a_connection_without_a_request_is_closed() {
    for edge in TestEdge::both("").await {
        let mut client = edge.client().await;
        edge.clock.armed(secs(10)).await;
        edge.clock.advance(secs(10));
        assert!(client.closes().await);
    }
}

#[tokio::test]
async fn progress_does_not_extend_the_time_of_a_head() {
    for edge in TestEdge::both("").await {
        let mut client = edge.client().await;
        assert_eq!(client.ask(LIVE).await.status, 200);
        client.send("GET /livez HTTP/1.1\r\n").await;
        edge.clock.armed(secs(10)).await;
        edge.clock.advance(secs(9));
        client.send("Host: a\r\n").await;
        edge.clock.advance(secs(1));
        assert!(client.closes().await);
    }
}

#[tokio::test]
async fn a_body_that_pauses_gets_a_408() {
    for edge in TestEdge::both("").await {
        let mut client = edge.client().await;
        let request = edge.post("/v1/images/generations", r#"{"model":"ctx-pro"}"#);
        client.send(&request[..request.len() - 5]).await;
        edge.clock.armed(secs(15)).await;
        edge.clock.advance(secs(15));
        let reply = client.read().await.unwrap();
        assert_eq!((reply.status, reply.header("x-should-retry")), (408, ""));
        assert_eq!(reply.json()["error"]["reason"], "request_timeout");
        assert!(client.closes().await);
    }
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_and_one_with_a_request_is_not() {
    for edge in TestEdge::both("").await {
        let (mut idle, mut waiting) = (edge.client().await, edge.client().await);
        assert_eq!(idle.ask(LIVE).await.status, 200);
        edge.wait_for_task(&mut waiting).await;
        // The first look sees the request of a moment ago, the second sees none since.
        for _ in 0..2 {
            edge.clock.armed_times(secs(75), 2).await;
            edge.clock.advance(secs(75));
        }
        assert!(idle.closes().await);
        edge.backend.put(1, crate::tests::support::samples::complete);
        assert_eq!(waiting.read().await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_client_that_takes_no_bytes_is_dropped() {
    for edge in TestEdge::both("").await {
        let mut client = edge.client().await;
        client.send("GET /v1/media/big.mp4?expires=9&signature=good HTTP/1.1\r\nHost: a\r\n\r\n").await;
        edge.clock.armed(secs(60)).await;
        edge.clock.advance(secs(60));
        // Bytes sent before are read; then the connection ends long before the file.
        let reply = client.read_head().await.unwrap();
        assert_eq!(reply.header("content-length"), "268435456");
        let mut read = 0;
        while !client.closes_after(&mut read).await {}
        assert!(read < 200 << 20, "{read} bytes came");
    }
}
