//! Draining: what is under way finishes, what is idle ends, what never ends is cut.

use std::time::Duration;

use tokio::net::TcpStream;

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
    let (house, clock, seed) = (stand.house, stand.clock, std::sync::Arc::new(super::Counting::default()));
    let pepper = gatehouse_model::Pepper::new([0; 32]);
    let error = crate::Edge::serve(config, house, pepper, clock, seed, None).await.err().unwrap();
    assert!(error.to_string().starts_with(&format!("server.listen {taken}: ")), "{error}");
}
