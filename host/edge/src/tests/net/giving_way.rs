//! Which connections end for new ones, and which never do.

use http::{Response, StatusCode, Version};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::http2::{post, secure_with, shake};
use crate::tests::{LIVE, TestEdge};

/// Without this, idle connections shut the listener, and so do those that ask for what needs no key once a minute.
#[tokio::test]
async fn connections_without_a_key_give_way_to_new_ones_the_oldest_first() {
    for edge in TestEdge::both("limits = { connections = 3 }").await {
        let mut strangers = [edge.client().await, edge.client().await];
        for stranger in &mut strangers {
            assert_eq!(stranger.ask(LIVE).await.status, 200);
        }
        let mut customer = edge.client().await;
        assert_eq!(customer.ask(edge.get("/v1/models", "")).await.status, 200);
        // What needs no key makes a connection no younger.
        assert_eq!(strangers[0].ask(LIVE).await.status, 200);
        let mut next = edge.client().await;
        assert_eq!(next.ask(LIVE).await.status, 200);
        assert!(strangers[0].closes().await);
        let mut last = edge.client().await;
        assert_eq!(last.ask(LIVE).await.status, 200);
        assert!(strangers[1].closes().await);
        assert_eq!(customer.ask(edge.get("/v1/models", "")).await.status, 200, "it was in use after them");
    }
}

/// A request with a key is never cut for a new connection; the new one is served once the request has ended.
#[tokio::test]
async fn a_connection_in_use_gives_way_after_its_request() {
    for edge in TestEdge::both("limits = { connections = 1 }").await {
        let mut first = edge.client().await;
        edge.wait_for_task(&mut first).await;
        // It is let in, and over TLS shakes hands, once there is room.
        let second = async { edge.client().await.ask(LIVE).await.status };
        let first_answer = async {
            edge.backend.put(1, crate::tests::support::samples::complete);
            first.read().await.unwrap().status
        };
        let (second, first_status) = tokio::join!(second, first_answer);
        assert_eq!((first_status, second), (200, 200), "whole, although another waits");
        assert!(first.closes().await);
    }
}

/// Two listeners wait for room at the same time, and accept as before after that.
#[tokio::test]
async fn two_listeners_share_their_connections() {
    let settings = "listen = [\"127.0.0.1:0\", \"127.0.0.1:0\"]\nlimits = { connections = 2 }";
    let edge = TestEdge::with(settings).await;
    let keys = [edge.add_key(1, "payer"), edge.add_key(2, "payer")];
    let mut held = Vec::new();
    for (number, key) in (1..).zip(&keys) {
        let task = edge.backend.put(number, |_| {});
        let mut client = edge.connect().await;
        let bearer = format!("Host: a\r\nAuthorization: Bearer {key}\r\nPrefer: wait=60\r\n\r\n");
        client.send(format!("GET /v1/tasks/{task} HTTP/1.1\r\n{bearer}")).await;
        held.push(client);
    }
    edge.until_look_ups(2).await;
    let (mut first, mut second) = (edge.connect_to(0).await, edge.connect_to(1).await);
    first.send(LIVE).await;
    second.send(LIVE).await;
    for (number, client) in (1..).zip(&mut held) {
        edge.backend.put(number, crate::tests::support::samples::complete);
        assert_eq!(client.read().await.unwrap().status, 200);
    }
    drop((first, second));
    for address in [0, 1, 0, 1] {
        assert_eq!(edge.connect_to(address).await.ask(LIVE).await.status, 200);
    }
}

/// Larger than what sockets on both sides and all buffers between them hold.
pub(super) const LARGE: usize = 64 << 20;

/// Asks for a large answer. Also returns what ends with the connection.
pub(super) async fn ask_for_large(
    edge: &TestEdge,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    version: Version,
) -> (Response<Incoming>, JoinHandle<()>) {
    let io = TokioIo::new(stream);
    let ends: JoinHandle<()>;
    let body = format!(r#"{{"model":"a","bytes":{LARGE}}}"#);
    let answer = if version == Version::HTTP_2 {
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        ends = tokio::spawn(async { drop(connection.await) });
        sender.send_request(post(edge, "https://gate.test/v1/chat/completions", version, body)).await
    } else {
        let (mut sender, connection) = http1::handshake(io).await.unwrap();
        ends = tokio::spawn(async { drop(connection.await) });
        sender.send_request(post(edge, "/v1/chat/completions", version, body)).await
    };
    let answer = answer.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    (answer, ends)
}

/// Asks for a large answer, lets another client come, and takes the answer then. Returns once the connection has ended.
async fn takes_it_late(
    edge: &TestEdge,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    version: Version,
) {
    let (answer, ends) = ask_for_large(edge, stream, version).await;
    let waits = edge.connect().await;
    let whole = answer.into_body().collect().await.map(|body| body.to_bytes().len());
    assert!(whole.as_ref().is_ok_and(|length| *length >= LARGE), "{version:?}: {whole:?}");
    ends.await.unwrap();
    drop(waits);
}

/// The gateway has given an answer to hyper long before a slow client has it. Were the connection not in use any more, it would
/// end in the middle of the answer as soon as another client comes.
#[tokio::test]
async fn an_answer_is_in_use_until_its_client_has_taken_it() {
    let one = "cleartext_http2 = true\nlimits = { connections = 1 }";
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let edge = TestEdge::with(one).await;
        let stream = TcpStream::connect(edge.server.addresses()[0]).await.unwrap();
        takes_it_late(&edge, stream, version).await;
        let (edge, certificate) = secure_with(one).await;
        let offer: &[&[u8]] = if version == Version::HTTP_2 { &[b"h2"] } else { &[] };
        let stream = shake(&edge, &certificate, offer).await;
        takes_it_late(&edge, stream, version).await;
    }
}
