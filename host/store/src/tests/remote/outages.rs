//! A server that is away: what was acknowledged is there, what was sent is written once, new work is refused, and all goes on by
//! itself.

use std::net::{Ipv4Addr, TcpListener};

use gatehouse_fault_injection::{ConnectionCut, PostgresServer};
use gatehouse_sample::audit;

use super::{behind_relay, cut_off, expect_failure, open, texts};
use crate::error::StoreError;
use crate::tests::{begin, close, patient};
use crate::writer::Durability;

/// A batch whose answer is lost would be written twice, or be lost although it was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_written_once() {
    let (store, relay, _) = behind_relay();
    let cuts = [
        ConnectionCut::Request(b"count_batch"),
        ConnectionCut::Request(b"commit"),
        ConnectionCut::Answer(b"COMMIT"),
        ConnectionCut::Answer(b"COMMIT"),
        ConnectionCut::Request(b"begin"),
    ];
    let mut expected = texts(&store).await;
    for (number, cut) in cuts.into_iter().enumerate() {
        relay.cut_at(cut);
        let text = format!("line {number}");
        store.execute_when_free(audit(text.clone()), Durability::Immediate).await.unwrap().unwrap();
        expected.push(text);
        assert_eq!(relay.cuts(), number + 1);
    }
    assert_eq!(texts(&store).await, expected);
    assert!(!store.has_failed() && !store.is_unavailable());
}

/// A restart of the server would end the gateway, or lose or repeat what it had acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_in_the_middle_is_waited_for() {
    let server = PostgresServer::start();
    let store = open(&server.database());
    begin(&store).await;
    let before = texts(&store).await;
    let waiting = (0..50).map(|number| patient(&store, audit(format!("line {number:02}"))));
    let waiting: Vec<_> = waiting.collect();
    tokio::task::block_in_place(|| server.stop_immediately());
    store.post(audit("posted")).unwrap();
    assert_eq!(store.until_waiting().await, StoreError::Unavailable);
    assert_eq!(store.execute(audit("refused")).await, Err(StoreError::Unavailable));
    assert_eq!(store.count_customers().await, Err(StoreError::Unavailable));
    assert!(store.is_unavailable() && !store.has_failed());
    tokio::task::block_in_place(|| server.start_again());
    for one in waiting {
        one.await.unwrap().unwrap();
    }
    store.execute_when_free(audit("last"), Durability::Immediate).await.unwrap().unwrap();
    let mut after = texts(&store).await.split_off(before.len());
    assert_eq!(after.pop().as_deref(), Some("last"));
    after.sort();
    let mut expected: Vec<_> = (0..50).map(|number| format!("line {number:02}")).collect();
    expected.push("posted".to_owned());
    assert_eq!(after, expected, "each once, and nothing of what was refused");
    assert!(!store.is_unavailable() && store.examine().unwrap().is_clean());
}

/// A stop would take as long as the server is away.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_closes_while_its_server_is_away() {
    let (store, relay, _) = behind_relay();
    cut_off(&relay);
    let waiting = patient(&store, audit("late"));
    store.until_waiting().await;
    close(store.clone()).await;
    assert_eq!(waiting.await.unwrap(), Err(StoreError::Unavailable), "it was never acknowledged");
}

/// What stands behind a refused begin would be committed statement by statement, without the fence.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_begin_is_refused_is_not_written() {
    let (store, relay, url) = behind_relay();
    store.execute(audit("first")).await.unwrap().unwrap();
    let kept = || PostgresServer::shared().ask(&url, "SELECT batch, (SELECT count(*) FROM audit) FROM home");
    let before = kept();
    relay.spoil(b"begin read write", b"begin read wrote");
    expect_failure(&store, "a commit: syntax error").await;
    assert_eq!(kept(), before);
}

/// Each read, and each session that begins again, would first wait for a host that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_several_hosts_is_dead() {
    let server = PostgresServer::shared();
    let url = server.database();
    // It takes connections and never answers. A read waits for less than this time limit.
    let dead = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let hosts = format!("{},{}", dead.local_addr().unwrap(), server.address());
    let both = format!("{}?connect_timeout=3", url.replace(&server.address().to_string(), &hosts));
    let store = open(&both);
    begin(&store).await;
    assert!(store.count_customers().await.unwrap() > 0);
    for number in 0..3 {
        server.end_sessions(&url);
        store.execute(audit(format!("line {number}"))).await.unwrap().unwrap();
        assert!(store.count_customers().await.is_ok() && store.until_it_may_begin().await.is_ok());
    }
    assert!(!store.is_unavailable());
}

/// A writer would wait for ever for an answer that something on the way has lost, and keep its place although it refuses everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_trip_that_is_lost_on_the_way_is_made_again() {
    let (store, relay, _) = behind_relay();
    for (point, text) in
        [(ConnectionCut::Answer(b"COMMIT"), "answer"), (ConnectionCut::Request(b"begin"), "request")]
    {
        let held = relay.hold_at(point);
        store.execute_when_free(audit(text), Durability::Immediate).await.unwrap().unwrap();
        assert!(held.is_reached());
    }
    assert_eq!(texts(&store).await, ["answer", "request"]);
}

/// The first read after a restart of a proxy would be refused, though the server is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_over_a_session_that_ended_is_made_again() {
    let (store, relay, _) = behind_relay();
    begin(&store).await;
    let before = store.count_customers().await.unwrap();
    for number in 1..4 {
        relay.cut_at(ConnectionCut::Request(b"list_length"));
        assert_eq!((store.count_customers().await, relay.cuts()), (Ok(before), number));
    }
}
