//! PostgreSQL as an engine: the same rows, lists and reads as in a file, for the same commands.

mod copy;
mod doctor;
mod migrate;
mod plans;
mod reads;
mod write;

use std::collections::BTreeSet;

use gatehouse_fault_injection::PostgresServer;
use gatehouse_tasks::{
    Backend as _, Command, Kept, List, MemoryLedgerStorage, RowChange, RowKey, Rows, apply,
};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;

use super::{first_commands, memory_store, remember};
use crate::engine::rows::FileEngine;
use crate::postgres::connect::Server;
use crate::postgres::fetch;
use crate::postgres::migrate::prepare;
use crate::postgres::write::Flush;
use crate::store::Store;
use crate::transaction::open::Outcome;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn connect(url: &str) -> Client {
    Server::parse(url, None).unwrap().connect().await.unwrap().client
}

/// A store in memory and one in a database that get the same changes.
struct Pair {
    store: Store,
    client: Client,
    url: String,
    batch: i64,
    /// Rows that were ever changed.
    keys: BTreeSet<RowKey>,
}

impl Pair {
    async fn new() -> Self {
        let url = PostgresServer::shared().database();
        let mut client = connect(&url).await;
        prepare(&mut client).await.unwrap();
        Self { store: memory_store(), client, url, batch: 0, keys: BTreeSet::new() }
    }

    fn engine(&self) -> FileEngine {
        FileEngine::new(self.store.database().unwrap(), std::sync::Arc::default())
    }

    /// Applies commands and commits what they changed to both.
    async fn commit(&mut self, commands: Vec<Command>) -> Vec<Outcome> {
        let mut rows = Rows::new(self.engine(), Kept::default());
        let outcomes = commands.into_iter().map(|command| apply(&mut rows, command).unwrap()).collect();
        let changes = rows.changes();
        self.write(&changes).await;
        outcomes
    }

    async fn write(&mut self, changes: &[RowChange]) {
        self.engine().commit(changes).unwrap();
        Flush::of(changes, 0).unwrap().send(&self.client, 0, self.batch).await.unwrap();
        self.batch += 1;
        self.keys.extend(changes.iter().map(|change| change.key.clone()));
    }

    /// The customers and keys that the templates are about.
    async fn begin(&mut self, storage: &mut MemoryLedgerStorage) {
        for command in first_commands() {
            remember(storage, command.clone()).unwrap();
            self.commit(vec![command]).await.pop().unwrap().unwrap();
        }
    }

    /// Each row that a command may fetch, and each list, is the same in both.
    async fn check_fetched(&self) {
        let engine = self.engine();
        let keys: Vec<RowKey> = self.keys.iter().filter(|key| !key.is_written_only()).cloned().collect();
        let expected: Vec<_> = keys.iter().map(|key| (key.clone(), engine.fetch(key).unwrap())).collect();
        assert_eq!(fetch::fetch(&self.client, &keys).await.unwrap(), expected);
        for list in self.lists() {
            let mut expected = Vec::new();
            while let Some(next) =
                engine.first(&list, None, &|key| expected.iter().any(|(_, known)| known == key)).unwrap()
            {
                expected.push(next);
            }
            let all = fetch::first(&self.client, &list, None, 10_000).await.unwrap();
            assert_eq!(all, expected, "{list:?}");
            let from = expected.get(expected.len() / 2);
            let rest = fetch::first(&self.client, &list, from, 3).await.unwrap();
            let half: Vec<_> = expected[expected.len() / 2..].iter().take(3).cloned().collect();
            assert_eq!(rest, half, "{list:?} from {from:?}");
        }
        assert_eq!(fetch::days(&self.client).await.unwrap().len(), self.days().len());
    }

    /// Every list that may have something.
    fn lists(&self) -> Vec<List> {
        let mut lists = vec![List::Live];
        lists.extend(self.keys.iter().filter_map(|key| match key {
            RowKey::Customer(id) => Some(List::Responses(id.clone())),
            RowKey::Webhook(id) => Some(List::Pending(*id)),
            _ => None,
        }));
        lists
    }

    /// The days in which a task was created.
    fn days(&self) -> BTreeSet<u32> {
        let day = |key: &RowKey| match key {
            RowKey::Task(id) | RowKey::Steps(id, _) => Some(id.timestamp().day()),
            _ => None,
        };
        self.keys.iter().filter_map(day).collect()
    }
}
