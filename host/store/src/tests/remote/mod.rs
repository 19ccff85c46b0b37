//! The store on a real server: the same answers as the file and the memory, whole batches or nothing, each once, and nobody's end when
//! the server is away.

mod answers;
mod outages;
mod same;
mod standby;
mod trips;
mod writers;

use gatehouse_fault_injection::{PostgresServer, Relay};
use gatehouse_sample::audit;

use crate::config::Config;
use crate::error::{OpenError, StoreError};
use crate::postgres::{Node, Server};
use crate::store::Store;
use crate::tests::audited;
use crate::writer::Durability;

/// A store in a database; waits for the writer before, whose session ends in its own time.
fn open(url: &str) -> Store {
    open_as(url, Node::default())
}

fn open_as(url: &str, node: Node) -> Store {
    let server = Server::parse(url, None).unwrap();
    loop {
        match Store::open_postgres(server.clone(), &Config::default(), node.clone(), None) {
            Ok(store) => return store,
            Err(OpenError::Taken { .. } | OpenError::Leased { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The texts of all lines, oldest first.
async fn texts(store: &Store) -> Vec<String> {
    let lines = audited(store, None, 999).await.unwrap();
    lines.into_iter().rev().map(|line| line.text).collect()
}

/// The store ends with the next command, and says why.
async fn expect_failure(store: &Store, why: &str) {
    let outcome = store.execute_when_free(audit("late"), Durability::Immediate).await;
    let Err(StoreError::Failed { reason }) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains(why), "{reason}");
    assert!(store.has_failed());
}

async fn expect_replaced(store: &Store) {
    expect_failure(store, "another gateway has taken over").await;
}

/// Ends all connections, and lets none begin.
fn cut_off(relay: &Relay) {
    relay.refuse(true);
    relay.cut_all();
}

/// A store in a new database of the server that all tests share, behind a relay.
fn behind_relay() -> (Store, Relay, String) {
    behind_relay_as(Node::default())
}

fn behind_relay_as(node: Node) -> (Store, Relay, String) {
    let server = PostgresServer::shared();
    let (url, relay) = (server.database(), Relay::to(server.address()));
    (open_as(&relay.url(&url, server.address()), node), relay, url)
}
