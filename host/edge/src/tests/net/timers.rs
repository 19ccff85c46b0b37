//! Slow clients, in the clear and over TLS: every wait has a time limit, exact to the second of a manual clock.

use http::Version;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::net::TcpSocket;

use super::giving_way::{LARGE, ask_for_large};
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

/// More than what a client that is narrow, the gateway's socket and all buffers between them hold: it has come only if the gateway has
/// written meanwhile.
const PIECE: usize = 8 << 20;

/// A client that takes a large answer piece by piece, and has little room for what it has not taken.
pub(super) struct SlowClient {
    answer: Incoming,
    taken: usize,
}

impl SlowClient {
    pub(super) async fn ask(edge: &TestEdge, version: Version) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(256 << 10).unwrap();
        let stream = socket.connect(edge.server.addresses()[0]).await.unwrap();
        let protocol: &[u8] = if version == Version::HTTP_2 { b"h2" } else { b"http/1.1" };
        let stream = edge.over(stream, protocol).await;
        let (answer, _) = ask_for_large(edge, stream, version).await;
        Self { answer: answer.into_body(), taken: 0 }
    }

    /// Takes the next piece; fails the test where the answer is cut off.
    pub(super) async fn take(&mut self) {
        let end = self.taken + PIECE;
        while self.taken < end {
            let frame = self.answer.frame().await.expect("more is to come").expect("it is not cut off");
            self.taken += frame.into_data().map_or(0, |data| data.len());
        }
    }

    /// Takes the rest, which makes the answer whole.
    pub(super) async fn take_rest(self) {
        let rest = self.answer.collect().await.expect("it is not cut off").to_bytes().len();
        assert!(self.taken + rest >= LARGE, "{} and {rest} bytes came", self.taken);
    }
}

/// hyper has an answer whole, and its request is over, long before a slow client has taken it. It must not count as idle meanwhile.
#[tokio::test]
async fn an_answer_that_is_taken_slowly_comes_whole() {
    for edge in TestEdge::both("cleartext_http2 = true").await {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let mut client = SlowClient::ask(&edge, version).await;
            // Two looks at what goes on are 75 s apart at least; the time of a connection that is told to end is 10 s.
            for _ in 0..5 {
                client.take().await;
                edge.clock.advance(secs(50));
            }
            client.take_rest().await;
        }
    }
}
