//! Draining: what is under way finishes, what is idle ends, what never ends is cut.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::client::Client;
use crate::tests::Stand;

const LIVE: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn a_drain_finishes_requests_and_ends_idle_connections() {
    let stand = Stand::plain().await;
    let (mut idle, mut waiting) = (stand.connect().await, stand.connect().await);
    assert_eq!(idle.ask(LIVE).await.status, 200);
    assert_eq!(waiting.ask(LIVE).await.status, 200);
    let id = stand.house.put(1, |_| {});
    waiting.send(stand.get(&format!("/v1/tasks/{id}"), "Prefer: wait=60\r\n")).await;
    while stand.house.look_ups.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let address = stand.edge.addresses()[0];
    let draining = tokio::spawn(stand.edge.drain(Duration::from_secs(30)));
    // Nobody waits out a long poll: it is answered with what there is.
    let reply = waiting.read().await.unwrap();
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    assert_eq!(reply.json()["data"]["status"], "submitted");
    assert!(waiting.closes().await && idle.closes().await);
    draining.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn who_leaves_serves_as_ever_and_says_goodbye() {
    let stand = Stand::with("leave_ms = 7000").await;
    let (mut kept, mut waiting) = (stand.connect().await, stand.connect().await);
    assert_eq!(kept.ask(LIVE).await.header("connection"), None);
    let id = stand.house.put(1, |_| {});
    waiting.send(stand.get(&format!("/v1/tasks/{id}"), "Prefer: wait=60\r\n")).await;
    while stand.house.look_ups.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let (edge, clock, key) = (stand.edge, stand.clock, stand.key);
    let address = edge.addresses()[0];
    let leaving = tokio::spawn(async move {
        edge.leave().await;
        edge
    });
    clock.armed(7).await;
    // Nobody waits out a long poll; a connection that was kept may be used once more, and new ones are taken.
    assert_eq!(waiting.read().await.unwrap().header("connection"), Some("close"));
    let submission = format!(
        "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    for client in [&mut kept, &mut Client::connect(address).await] {
        let reply = client.ask(&submission).await;
        assert_eq!((reply.status, reply.header("connection")), (200, Some("close")), "{reply:?}");
        assert!(client.closes().await);
    }
    let ready = Client::connect(address).await.ask("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(ready.status, 503);
    clock.advance(7);
    leaving.await.unwrap().drain(Duration::from_secs(30)).await;
    assert!(TcpStream::connect(address).await.is_err());
}

/// Returns once `connections` are given their last second to ask, and `client` is still one of them.
async fn not_cut_off(clock: &super::clock::StillClock, connections: usize, client: &mut Client) {
    tokio::select! {
        () = clock.armed_times(1, connections) => {}
        cut = client.closes() => panic!("closed: {cut}"),
    }
}

#[tokio::test]
async fn a_request_that_has_begun_to_arrive_is_answered() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    assert_eq!(client.ask(LIVE).await.status, 200);
    let (first, rest) = LIVE.split_at(10);
    client.send(first).await;
    // The time for a head runs once its first bytes are here.
    stand.clock.armed(10).await;
    let draining = tokio::spawn(stand.edge.drain(Duration::from_secs(30)));
    // Told to shut down now, hyper would close between two requests: it has not seen a whole one.
    not_cut_off(&stand.clock, 1, &mut client).await;
    client.send(rest).await;
    let reply = client.read().await.expect("an answer");
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    assert!(client.closes().await);
    draining.await.unwrap();
}

#[tokio::test]
async fn a_connection_just_made_may_still_ask_and_one_that_says_nothing_ends() {
    let stand = Stand::plain().await;
    let (mut asks, mut silent) = (stand.connect().await, stand.connect().await);
    stand.clock.armed_times(10, 2).await;
    let draining = tokio::spawn(stand.edge.drain(Duration::from_secs(30)));
    not_cut_off(&stand.clock, 2, &mut silent).await;
    let reply = asks.ask(LIVE).await;
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    stand.clock.advance(1);
    assert!(silent.closes().await);
    draining.await.unwrap();
}

#[tokio::test]
async fn whoever_was_let_in_gets_a_place_though_the_shutdown_has_begun() {
    let stand = Stand::with("limits = { connections = 1 }").await;
    let (mut first, mut second) = (stand.connect().await, stand.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    let id = stand.house.put(1, |_| {});
    first.send(stand.post("/v1/images/generations", r#"{"refuse":"hang"}"#)).await;
    while stand.house.asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    second.send(stand.get(&format!("/v1/tasks/{id}"), "")).await;
    let draining = tokio::spawn(stand.edge.drain(Duration::from_secs(33)));
    tokio::select! {
        () = stand.clock.armed(33) => {}
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
    let mut early = Client::connect(address).await;
    early.send(LIVE).await;
    for _ in 0..2 {
        let (house, clock, seed) = (
            Stand::plain().await.house,
            super::clock::StillClock::new(),
            Arc::new(super::Counting::default()),
        );
        let pepper = gatehouse_model::Pepper::new([0; 32]);
        let sockets = vec![socket.try_clone().unwrap()];
        let config = crate::Config::default();
        let edge = crate::Edge::serve(config, house, pepper, clock, seed, None, sockets).await.unwrap();
        assert_eq!(edge.addresses(), [address]);
        // Asked before there was anybody to answer.
        assert_eq!(early.read().await.unwrap().status, 200);
        drop(early);
        edge.drain(Duration::from_secs(30)).await;
        early = Client::connect(address).await;
        early.send(LIVE).await;
    }
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut() {
    let stand = Stand::plain().await;
    let mut stuck = stand.connect().await;
    stuck.send(stand.post("/v1/images/generations", r#"{"refuse":"hang"}"#)).await;
    while stand.house.asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let draining = tokio::spawn(stand.edge.drain(Duration::from_secs(33)));
    stand.clock.armed(33).await;
    stand.clock.advance(33);
    draining.await.unwrap();
    assert!(stuck.closes().await);
}

#[tokio::test]
async fn a_dropped_edge_leaves_nothing_open() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    assert_eq!(client.ask(LIVE).await.status, 200);
    drop(stand.edge);
    assert!(client.closes().await);
}

#[tokio::test]
async fn connections_are_bounded_for_each_address() {
    let stand = Stand::with("limits = { connections_per_ip = 2 }").await;
    let (mut first, mut second, mut third) =
        (stand.connect().await, stand.connect().await, stand.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    assert_eq!(second.ask(LIVE).await.status, 200);
    assert!(third.closes().await);
    // A trusted proxy speaks for many.
    let stand = Stand::with("trusted_proxies = [\"127.0.0.0/8\"]\nlimits = { connections_per_ip = 1 }").await;
    let (mut first, mut second) = (stand.connect().await, stand.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    assert_eq!(second.ask(LIVE).await.status, 200);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_place() {
    let stand = Stand::with("limits = { connections = 1 }").await;
    let (mut first, mut second) = (stand.connect().await, stand.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    second.send(LIVE).await;
    drop(first);
    assert_eq!(second.read().await.unwrap().status, 200);
}

#[tokio::test]
async fn an_address_that_cannot_be_had_is_named() {
    let stand = Stand::plain().await;
    let taken = stand.edge.addresses()[0];
    let config = crate::Config { listen: vec![taken], ..crate::Config::default() };
    let (house, clock, seed) = (stand.house, stand.clock, Arc::new(super::Counting::default()));
    let pepper = gatehouse_model::Pepper::new([0; 32]);
    let served = crate::Edge::serve(config, house, pepper, clock, seed, None, Vec::new()).await;
    let error = served.err().unwrap();
    assert!(error.to_string().starts_with(&format!("server.listen {taken}: ")), "{error}");
}
