//! The store on a real server: the same answers as the file and the memory, whole batches or nothing, each once, and nobody's end when
//! the server is away.

mod answers;
mod outages;
mod same;
mod standby;
mod trips;
mod writers;

use gatehouse_fault_injection::{PostgresServer, Relay};

use crate::config::Config;
use crate::error::OpenError;
use crate::postgres::{Node, Server};
use crate::store::Store;

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

/// A store in a new database of the server that all tests share, behind a relay.
fn behind_relay() -> (Store, Relay, String) {
    let server = PostgresServer::shared();
    let (url, relay) = (server.database(), Relay::to(server.address()));
    let store = open(&relay.url(&url, server.address()));
    (store, relay, url)
}
