//! The store against its promises: same answers as the books in memory, whole batches or nothing, and a clear
//! word when it cannot go on.

mod birth;
mod broken;
mod crash;
mod life;
mod light;
mod listing;
mod mix;
mod same;

use std::collections::BTreeSet;

use gatehouse_model::{Customer, CustomerId, Digest, Key, KeyId, Task, TaskId};
use gatehouse_tasks::sample::{START, beginning};
use gatehouse_tasks::{
    Answer, Command, Entry, Hold, HoldId, MemoryLedgerStorage, Note, Rejection, Repetition, apply,
};
use redb::{ReadableDatabase, ReadableTable, TableHandle};

use crate::layout::{self, Day};
use crate::read::rows;
use crate::{Config, Store};

/// Everything there is, look-up tables included, from whoever keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dump {
    accounts: Vec<Customer>,
    keys: Vec<Key>,
    key_digests: BTreeSet<([u8; 32], String)>,
    live: Vec<Task>,
    finished: Vec<Task>,
    owners: BTreeSet<(String, u128)>,
    holds: Vec<Hold>,
    hold_expiry: BTreeSet<(u64, [u8; 17])>,
    ledger: Vec<Entry>,
    repetitions: Vec<Repetition>,
    repetition_expiry: BTreeSet<(u64, String, [u8; 32])>,
    notes: Vec<Note>,
}

impl Dump {
    fn of_memory(books: &MemoryLedgerStorage) -> Self {
        let all = || books.live_tasks().chain(books.finished_tasks());
        let requests = books.holds().filter(|hold| matches!(hold.id, HoldId::Request(_)));
        Self {
            accounts: books.accounts().cloned().collect(),
            keys: books.keys().cloned().collect(),
            key_digests: books.keys().map(|key| (key.digest.0.0, key.id.0.clone())).collect(),
            live: books.live_tasks().cloned().collect(),
            finished: books.finished_tasks().cloned().collect(),
            owners: all().map(|task| (task.account.0.clone(), task.id.bits())).collect(),
            holds: books.holds().cloned().collect(),
            hold_expiry: requests.map(|hold| (hold.expires.0, layout::hold_key(hold.id))).collect(),
            ledger: books.ledger().to_vec(),
            repetitions: books.repetitions().cloned().collect(),
            repetition_expiry: books
                .repetitions()
                .map(|row| (row.expires.0, row.key.0.clone(), row.token.0))
                .collect(),
            notes: books.notes().to_vec(),
        }
    }

    fn of_store(store: &Store) -> Self {
        let database = store.database().unwrap();
        let txn = database.begin_read().unwrap();
        let mut days: Vec<u32> =
            txn.list_tables().unwrap().filter_map(|table| layout::owners_day(&table)).collect();
        days.sort_unstable();
        let (mut owners, mut finished) = (BTreeSet::new(), vec![]);
        for day in days {
            let day = Day::new(day);
            for row in txn.open_table(day.owners()).unwrap().iter().unwrap() {
                let key = row.unwrap().0;
                owners.insert((key.value().0.to_owned(), key.value().1));
            }
            if txn.list_tables().unwrap().any(|table| table.name() == day.history().name()) {
                finished.extend(rows::<u128, Task>(&txn, day.history()).unwrap());
            }
        }
        let digests = txn.open_table(layout::KEY_DIGESTS).unwrap();
        let hold_expiry = txn.open_table(layout::HOLD_EXPIRY).unwrap();
        let expiry = txn.open_table(layout::IDEMPOTENCY_EXPIRY).unwrap();
        Self {
            accounts: store.accounts().unwrap(),
            keys: store.keys().unwrap(),
            key_digests: each(&digests, |row| (row.0.value(), row.1.value().to_owned())),
            live: store.live_tasks().collect::<Result<_, _>>().unwrap(),
            finished,
            owners,
            holds: rows(&txn, layout::HOLDS).unwrap(),
            hold_expiry: each(&hold_expiry, |row| row.0.value()),
            ledger: rows(&txn, layout::LEDGER).unwrap(),
            repetitions: rows(&txn, layout::IDEMPOTENCY).unwrap(),
            repetition_expiry: each(&expiry, |row| {
                let (at, key, token) = row.0.value();
                (at, key.to_owned(), token)
            }),
            notes: rows(&txn, layout::AUDIT).unwrap(),
        }
    }
}

type Guards<'a, K, V> = (redb::AccessGuard<'a, K>, redb::AccessGuard<'a, V>);

fn each<K: redb::Key + 'static, V: redb::Value + 'static, T: Ord>(
    table: &impl ReadableTable<K, V>,
    read: impl Fn(Guards<'_, K, V>) -> T,
) -> BTreeSet<T> {
    table.iter().unwrap().map(|row| read(row.unwrap())).collect()
}

fn remember(books: &mut MemoryLedgerStorage, command: Command) -> Result<Answer, Rejection> {
    match apply(books, command) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// A store in memory.
fn memory_store() -> Store {
    Store::with_backend(redb::backends::InMemoryBackend::new(), &Config::default()).unwrap()
}

/// Two accounts with money and three keys.
async fn begin(store: &Store) {
    for wish in beginning() {
        let command = wish.command(&MemoryLedgerStorage::default(), START);
        store.execute(command).await.unwrap().unwrap();
    }
}

fn account(name: &str) -> CustomerId {
    CustomerId(name.to_owned())
}

fn key(name: &str) -> KeyId {
    KeyId(name.to_owned())
}

/// A task id born that many minutes after the start, told apart by `number`.
fn minute(minutes: u64, number: u128) -> TaskId {
    TaskId::from_bits((u128::from(START.0 + minutes * 60_000) << 80) | number)
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}
