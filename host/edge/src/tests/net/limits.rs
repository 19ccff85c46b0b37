//! Limits on open connections: altogether, and of one client subnet.

use crate::tests::{LIVE, TestEdge};

#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let edge = TestEdge::with("limits = { connections_per_ip = 2 }").await;
    let (mut first, mut second, mut third) =
        (edge.connect().await, edge.connect().await, edge.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    assert_eq!(second.ask(LIVE).await.status, 200);
    assert!(third.closes().await);
    // A trusted proxy carries many clients.
    let edge =
        TestEdge::with("trusted_proxies = [\"127.0.0.0/8\"]\nlimits = { connections_per_ip = 1 }").await;
    let (mut first, mut second) = (edge.connect().await, edge.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    assert_eq!(second.ask(LIVE).await.status, 200);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let edge = TestEdge::with("limits = { connections = 1 }").await;
    let (mut first, mut second) = (edge.connect().await, edge.connect().await);
    assert_eq!(first.ask(LIVE).await.status, 200);
    second.send(LIVE).await;
    drop(first);
    assert_eq!(second.read().await.unwrap().status, 200);
}
