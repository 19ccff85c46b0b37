//! Shutdown: requests under way finish, idle connections end, endless requests are aborted.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_harness::{Connection, TestClock, TestSeed};
use http::Version;
use tokio::net::TcpStream;

use super::timers::SlowClient;
use crate::tests::{LIVE, NOW, TestEdge, secs};

#[tokio::test]
async fn a_drain_finishes_requests_and_ends_idle_connections() {
    let edge = TestEdge::plain().await;
    let (mut idle, mut waiting) = (edge.connect().await, edge.connect().await);
    assert_eq!(idle.ask(LIVE).await.status, 200);
    assert_eq!(waiting.ask(LIVE).await.status, 200);
    edge.wait_for_task(&mut waiting).await;
    let address = edge.server.addresses()[0];
    let draining = tokio::spawn(edge.server.drain(Duration::from_secs(30)));
    // A long poll ends at once with the current state.
    let reply = waiting.read().await.unwrap();
    assert_eq!((reply.status, reply.header("connection")), (200, "close"));
    assert_eq!(reply.json()["data"]["status"], "submitted");
    assert!(waiting.closes().await && idle.closes().await);
    draining.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_lame_duck_still_serves_and_ends_connections() {
    let edge = TestEdge::with("lame_duck_ms = 7000").await;
    let (mut kept, mut waiting) = (edge.connect().await, edge.connect().await);
    assert_eq!(kept.ask(LIVE).await.header("connection"), "");
    edge.wait_for_task(&mut waiting).await;
    let (edge, clock, key) = (edge.server, edge.clock, edge.key);
    let address = edge.addresses()[0];
    let lame_duck = tokio::spawn(async move {
        edge.lame_duck().await;
        edge
    });
    clock.armed(secs(7)).await;
    // A long poll ends at once; an idle connection may be used once more; new connections are accepted.
    assert_eq!(waiting.read().await.unwrap().header("connection"), "close");
    let submission = format!(
        "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    for client in [&mut kept, &mut Connection::open(address).await] {
        let reply = client.ask(&submission).await;
        assert_eq!((reply.status, reply.header("connection")), (200, "close"), "{reply:?}");
        assert!(client.closes().await);
    }
    let ready = Connection::open(address).await.ask("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(ready.status, 503);
    clock.advance(secs(7));
    lame_duck.await.unwrap().drain(Duration::from_secs(30)).await;
    assert!(TcpStream::connect(address).await.is_err());
}

/// Returns once `connections` have their last second for a request, and `client` is still one of them.
async fn still_open(clock: &TestClock, connections: usize, client: &mut Connection) {
    tokio::select! {
        () = clock.armed_times(secs(1), connections) => {}
        cut = client.closes() => panic!("closed: {cut}"),
    }
}

#[tokio::test]
async fn a_request_that_has_begun_to_arrive_is_answered() {
    let edge = TestEdge::plain().await;
    let mut client = edge.connect().await;
    assert_eq!(client.ask(LIVE).await.status, 200);
    let (first, rest) = LIVE.split_at(10);
    client.send(first).await;
    // The time for a head runs once its first bytes are here.
    edge.clock.armed(secs(10)).await;
    let draining = tokio::spawn(edge.server.drain(Duration::from_secs(30)));
    // Told to shut down now, hyper would close between two requests: it has not seen a whole one.
    still_open(&edge.clock, 1, &mut client).await;
    client.send(rest).await;
    let reply = client.read().await.expect("an answer");
    assert_eq!((reply.status, reply.header("connection")), (200, "close"));
    assert!(client.closes().await);
    draining.await.unwrap();
}

#[tokio::test]
async fn a_new_connection_may_send_one_request_and_a_silent_one_ends() {
    let edge = TestEdge::plain().await;
    let (mut active, mut idle) = (edge.connect().await, edge.connect().await);
    edge.clock.armed_times(secs(10), 2).await;
    let draining = tokio::spawn(edge.server.drain(Duration::from_secs(30)));
    still_open(&edge.clock, 2, &mut idle).await;
    let reply = active.ask(LIVE).await;
    assert_eq!((reply.status, reply.header("connection")), (200, "close"));
    edge.clock.advance(secs(1));
    assert!(idle.closes().await);
    draining.await.unwrap();
}

#[tokio::test]
async fn an_accepted_connection_is_served_after_the_shutdown_began() {
    let edge = TestEdge::with("limits = { connections = 1 }").await;
    let mut first = edge.connect().await;
    assert_eq!(first.ask(LIVE).await.status, 200);
    let id = edge.backend.put(1, |_| {});
    first.send(edge.post("/v1/images/generations", r#"{"refuse":"hang"}"#)).await;
    edge.until_submitted().await;
    let mut second = edge.connect().await;
    second.send(edge.get(&format!("/v1/tasks/{id}"), "")).await;
    let draining = tokio::spawn(edge.server.drain(Duration::from_secs(33)));
    tokio::select! {
        () = edge.clock.armed(secs(33)) => {}
        cut = second.closes() => panic!("closed: {cut}"),
    }
    drop(first);
    assert_eq!(second.read().await.map(|reply| reply.status), Some(200));
    draining.await.unwrap();
}

#[tokio::test]
async fn sockets_that_are_handed_over_outlive_the_edge() {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut early = Connection::open(address).await;
    early.send(LIVE).await;
    for _ in 0..2 {
        let (backend, clock, seed) =
            (TestEdge::plain().await.backend, TestClock::at(NOW), Arc::new(TestSeed::default()));
        let pepper = gatehouse_model::Pepper::new([0; 32]);
        let sockets = vec![socket.try_clone().unwrap()];
        let config = crate::Config::default();
        let edge = crate::Edge::serve(config, backend, pepper, clock, seed, None, sockets).await.unwrap();
        assert_eq!(edge.addresses(), [address]);
        // The request was sent before any edge served the socket.
        assert_eq!(early.read().await.unwrap().status, 200);
        drop(early);
        edge.drain(Duration::from_secs(30)).await;
        early = Connection::open(address).await;
        early.send(LIVE).await;
    }
}

#[tokio::test]
async fn a_request_that_does_not_end_in_time_is_aborted() {
    let edge = TestEdge::plain().await;
    let mut stuck = edge.connect().await;
    stuck.send(edge.post("/v1/images/generations", r#"{"refuse":"hang"}"#)).await;
    edge.until_submitted().await;
    let draining = tokio::spawn(edge.server.drain(Duration::from_secs(33)));
    edge.clock.armed(secs(33)).await;
    edge.clock.advance(secs(33));
    draining.await.unwrap();
    assert!(stuck.closes().await);
}

/// Each restart of the gateway would cut off answers that were paid for, long before their time in a drain is over.
#[tokio::test]
async fn an_answer_that_is_taken_slowly_is_finished_in_a_drain() {
    let edge = TestEdge::plain().await;
    let mut client = SlowClient::ask(&edge, Version::HTTP_11).await;
    let draining = tokio::spawn(edge.server.drain(secs(30)));
    edge.clock.armed(secs(30)).await;
    for _ in 0..3 {
        client.take().await;
        edge.clock.advance(secs(9));
    }
    client.take_rest().await;
    draining.await.unwrap();
}

/// The system takes a long answer in large parts: between two of them a slow client seems to take nothing.
#[tokio::test]
async fn an_answer_that_waits_for_its_socket_is_finished_in_a_drain() {
    let edge = TestEdge::plain().await;
    let client = SlowClient::ask(&edge, Version::HTTP_11).await;
    let draining = tokio::spawn(edge.server.drain(secs(35)));
    edge.clock.armed(secs(35)).await;
    edge.clock.advance(secs(30));
    client.take_rest().await;
    draining.await.unwrap();
}

#[tokio::test]
async fn a_dropped_edge_leaves_nothing_open() {
    let edge = TestEdge::plain().await;
    let mut client = edge.connect().await;
    assert_eq!(client.ask(LIVE).await.status, 200);
    drop(edge.server);
    assert!(client.closes().await);
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let edge = TestEdge::plain().await;
    let taken = edge.server.addresses()[0];
    let config = crate::Config { listen: vec![taken], ..crate::Config::default() };
    let (backend, clock, seed) = (edge.backend, edge.clock, Arc::new(TestSeed::default()));
    let pepper = gatehouse_model::Pepper::new([0; 32]);
    let served = crate::Edge::serve(config, backend, pepper, clock, seed, None, Vec::new()).await;
    let error = served.err().unwrap();
    assert!(error.to_string().starts_with(&format!("server.listen {taken}: ")), "{error}");
}
