//! One writer a database: another gateway is told so, and one that was replaced writes nothing.

use gatehouse_fault_injection::PostgresServer;
use gatehouse_sample::audit;

use super::{behind_relay, cut_off, expect_failure, expect_replaced, open, texts};
use crate::config::Config;
use crate::error::{OpenError, StoreError};
use crate::postgres::{Node, Server};
use crate::store::Store;
use crate::tests::close;

/// Two writers would each believe that they know every row.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_gateway_is_told_that_another_is_at_work() {
    let url = PostgresServer::shared().database();
    let first = open(&url);
    let second =
        Store::open_postgres(Server::parse(&url, None).unwrap(), &Config::default(), Node::default(), None);
    let Err(error @ OpenError::Taken { .. }) = second.map(|_| ()) else { panic!("it was opened") };
    assert!(error.to_string().contains("another gateway is at work on it"), "{error}");
    first.execute(audit("first")).await.unwrap().unwrap();
    close(first).await;
    let second = open(&url);
    second.execute(audit("second")).await.unwrap().unwrap();
    assert_eq!(texts(&second).await, ["first", "second"]);
}

/// A command right behind another one would be told of a gateway that is not there.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_about_to_end_is_waited_for() {
    let url = PostgresServer::shared().database();
    drop(open(&url));
    let server = Server::parse(&url, None).unwrap();
    let before = server.connect().await.unwrap();
    before.client.batch_execute("select pg_advisory_lock(7166120832)").await.unwrap();
    let ends = async {
        before.client.batch_execute("select pg_sleep(0.2)").await.unwrap();
        drop(before);
    };
    let (migrated, ()) = tokio::join!(server.migrate(), ends);
    assert_eq!(migrated.unwrap(), Vec::<u32>::new());
}

/// After a failover to a standby that was behind, a gateway would go on with balances that nobody has.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_has_lost_a_batch_ends_its_writer() {
    let (store, relay, url) = behind_relay();
    store.execute(audit("first")).await.unwrap().unwrap();
    cut_off(&relay);
    let _ = PostgresServer::shared().ask(&url, "update home set batch = batch - 1");
    relay.refuse(false);
    expect_failure(&store, "at another batch").await;
}

/// A gateway that was cut off for a while would write over what its successor did.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_was_replaced_writes_nothing() {
    let (first, relay, url) = behind_relay();
    first.execute(audit("first")).await.unwrap().unwrap();
    cut_off(&relay);
    let second = open(&url);
    second.execute(audit("second")).await.unwrap().unwrap();
    close(second).await;
    relay.refuse(false);
    expect_replaced(&first).await;
    assert_eq!(texts(&open(&url)).await, ["first", "second"]);
}

/// The first text after a proxy has ended an idle session would be refused, and a call that waits until it may leave would wait for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_begins_again_though_nothing_is_written() {
    let (store, relay, url) = behind_relay();
    store.execute(audit("first")).await.unwrap().unwrap();
    let session = || PostgresServer::shared().ask(&url, "select session from lease");
    for _ in 0..3 {
        let before = session();
        relay.cut_all();
        while session() == before {
            assert!(!store.has_failed());
            tokio::task::yield_now().await;
        }
        store.until_it_may_begin().await.unwrap();
    }
    for number in 0..3 {
        relay.cut_all();
        store.until_it_may_begin().await.unwrap();
        store.execute(audit(format!("line {number}"))).await.unwrap().unwrap();
    }
    cut_off(&relay);
    // Until the end of the session is seen, it may.
    while store.until_it_may_begin().await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.execute(audit("refused")).await, Err(StoreError::Unavailable));
    relay.refuse(false);
    while store.until_it_may_begin().await.is_err() {
        assert!(!store.has_failed());
    }
}
