//! The guarantees of the store: the same answers as the storage in memory, whole batches or nothing, and a clear
//! error when it cannot continue.

mod administration;
mod copy;
mod crash;
mod creation;
mod damage;
mod deferred;
mod disk;
mod expired;
mod golden;
mod handle;
mod joined;
mod kept;
mod ledger;
mod lists;
mod open_transaction;
mod postgres;
mod quotas;
mod records;
mod remote;
mod responses;
mod same;

mod steps;
mod unavailable;
mod webhooks;
mod workload;

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_fault_injection::Disk;
use gatehouse_model::{Credits, Customer, CustomerId, Digest, Key, KeyId, Phase, Task, TaskId};
use gatehouse_sample::{START, beginning};
use gatehouse_tasks::{
    Applied, AuditRecord, Command, Ending, EntryKind, Hold, HoldId, IdempotencyRecord, JournalEntry,
    MemoryLedgerStorage, NameRecord, Rejection, UsageKey, UsageSums, apply,
};
use redb::{ReadTransaction, ReadableDatabase, WriteTransaction};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::administration::AuditQuery;
use crate::config::Config;
use crate::error::StoreError;
use crate::layout;
use crate::store::Store;
use crate::table::{Entry, Table, TableKey};
use crate::writer::Durability;

/// All rows of a storage, look-up tables included.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dump {
    customers: Vec<Customer>,
    without_credit: BTreeSet<String>,
    keys: Vec<Key>,
    key_digests: BTreeSet<([u8; 32], String)>,
    live: Vec<Task>,
    finished: Vec<Task>,
    task_index: BTreeSet<(String, String, String, u128)>,
    usage_days: BTreeMap<UsageRowKey, UsageSums>,
    usage_hours: BTreeMap<UsageRowKey, UsageSums>,
    statements: BTreeMap<(String, String), Vec<(u64, Credits)>>,
    deposit_days: BTreeMap<(String, u32), (i64, i64)>,
    holds: Vec<Hold>,
    hold_expiry: BTreeSet<(u64, layout::HoldKey)>,
    ledger: Vec<JournalEntry>,
    idempotency_records: Vec<IdempotencyRecord>,
    idempotency_expiry: BTreeSet<(u64, String, [u8; 32])>,
    audit_records: Vec<AuditRecord>,
    names: Vec<NameRecord>,
    name_owners: BTreeSet<(String, String)>,
}

impl Dump {
    fn of_memory(storage: &MemoryLedgerStorage) -> Self {
        let all = || storage.live_tasks().chain(storage.finished_tasks());
        let requests = storage.holds().filter(|hold| matches!(hold.id, HoldId::Request(_)));
        Self {
            customers: storage.customers().cloned().collect(),
            without_credit: storage
                .customers()
                .filter(|customer| customer.available <= Credits::ZERO)
                .map(|customer| customer.id.0.clone())
                .collect(),
            keys: storage.keys().cloned().collect(),
            key_digests: storage.keys().map(|key| (key.digest.0.0, key.id.0.clone())).collect(),
            live: storage.live_tasks().cloned().collect(),
            finished: storage.finished_tasks().cloned().collect(),
            task_index: all().flat_map(indexed).collect(),
            usage_days: usage(storage, UsageKey::day),
            usage_hours: usage(storage, |key| key.hour),
            statements: statements(storage),
            deposit_days: deposit_days(storage),
            holds: storage.holds().cloned().collect(),
            hold_expiry: requests.map(|hold| (hold.expires.0, layout::hold_key(hold.id))).collect(),
            ledger: storage.ledger().into_iter().cloned().collect(),
            idempotency_records: storage.idempotency_records().cloned().collect(),
            idempotency_expiry: storage
                .idempotency_records()
                .map(|row| (row.expires.0, row.key.0.clone(), row.token.0))
                .collect(),
            audit_records: storage.audit_records().into_iter().cloned().collect(),
            names: storage.names().cloned().collect(),
            name_owners: storage
                .names()
                .map(|row| (row.claim.name.clone(), row.customer.0.clone()))
                .collect(),
        }
    }

    fn of_store(store: &Store) -> Self {
        Self::of_database(&store.database().unwrap())
    }

    fn of_database(database: &redb::Database) -> Self {
        let txn = database.begin_read().unwrap();
        let (mut task_index, mut finished) = (BTreeSet::new(), vec![]);
        for day in layout::TASK_INDEX.days(txn.list_tables().unwrap()) {
            task_index.extend(keys(&txn, &layout::TASK_INDEX.of(day)));
        }
        for day in layout::HISTORY.days(txn.list_tables().unwrap()) {
            finished.extend(rows(&txn, layout::HISTORY.of(day)).unwrap());
        }
        let mut usage_hours = BTreeMap::new();
        for day in layout::USAGE_HOURS.days(txn.list_tables().unwrap()) {
            usage_hours.extend(pairs(&txn, &layout::USAGE_HOURS.of(day)));
        }
        let mut statements: BTreeMap<(String, String), Vec<(u64, Credits)>> = BTreeMap::new();
        for ((kind, owner, _), listed) in pairs(&txn, &layout::LEDGER_INDEX) {
            statements.entry((kind, owner)).or_default().extend(listed);
        }
        Self {
            customers: rows(&txn, layout::CUSTOMERS).unwrap(),
            without_credit: keys(&txn, &layout::WITHOUT_CREDIT),
            keys: rows(&txn, layout::KEYS).unwrap(),
            key_digests: pairs(&txn, &layout::KEY_DIGESTS).into_iter().collect(),
            live: rows(&txn, layout::LIVE).unwrap(),
            finished,
            task_index,
            usage_days: pairs(&txn, &layout::USAGE_DAYS).into_iter().collect(),
            usage_hours,
            statements,
            deposit_days: pairs(&txn, &layout::DEPOSIT_DAYS).into_iter().collect(),
            holds: rows(&txn, layout::HOLDS).unwrap(),
            hold_expiry: keys(&txn, &layout::HOLD_EXPIRY),
            ledger: rows(&txn, layout::LEDGER).unwrap(),
            idempotency_records: rows(&txn, layout::IDEMPOTENCY).unwrap(),
            idempotency_expiry: keys(&txn, &layout::IDEMPOTENCY_EXPIRY),
            audit_records: rows(&txn, layout::AUDIT).unwrap(),
            names: rows(&txn, layout::NAMES).unwrap(),
            name_owners: pairs(&txn, &layout::NAME_OWNERS).into_iter().collect(),
        }
    }
}

/// Customer, key, hour or day, model.
type UsageRowKey = (String, String, u32, String);

/// The rows of a task: the one of its customer, then those for all customers.
fn indexed(task: &Task) -> Vec<(String, String, String, u128)> {
    let all = |list: &str, value: &str| (String::new(), list.to_owned(), value.to_owned(), task.id.bits());
    let status = task.status.as_str();
    let mut rows = vec![
        (task.customer.0.clone(), status.to_owned(), task.model.clone(), task.id.bits()),
        all("status", status),
        all("key", &task.key.0),
        all("family", &task.family),
    ];
    rows.extend(matches!(task.phase, Phase::Ambiguous { .. }).then(|| all("ambiguous", "")));
    rows
}

/// Sums of keys, of customers and of all, by what `period` gives.
fn usage(
    storage: &MemoryLedgerStorage,
    period: impl Fn(&UsageKey) -> u32,
) -> BTreeMap<UsageRowKey, UsageSums> {
    let mut rows: BTreeMap<UsageRowKey, UsageSums> = BTreeMap::new();
    for (key, sums) in storage.usage() {
        for (customer, name) in [(&*key.customer.0, &*key.key.0), (&*key.customer.0, ""), ("", "")] {
            let row = (customer.to_owned(), name.to_owned(), period(key), key.model.clone());
            rows.entry(row).or_default().add(sums);
        }
    }
    rows
}

/// The ledger's rows by customer and by key, with the balance after each.
fn statements(storage: &MemoryLedgerStorage) -> BTreeMap<(String, String), Vec<(u64, Credits)>> {
    let mut found: BTreeMap<(String, String), Vec<(u64, Credits)>> = BTreeMap::new();
    let mut sums: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (position, entry) in (0..).zip(storage.ledger()) {
        let moved = entry.movement;
        let used = moved.reserved.0 + moved.spent.0;
        let customer = Some((("customer".to_owned(), entry.customer.0.clone()), moved.available.0));
        let key = entry.key.as_ref().map(|key| (("key".to_owned(), key.0.clone()), used));
        for (owner, change) in customer.into_iter().chain(key) {
            let sum = sums.entry(owner.clone()).or_default();
            *sum += change;
            found.entry(owner).or_default().push((position, Credits(*sum)));
        }
    }
    found
}

/// What was paid in and taken back, by customer and day.
fn deposit_days(storage: &MemoryLedgerStorage) -> BTreeMap<(String, u32), (i64, i64)> {
    let mut found: BTreeMap<(String, u32), (i64, i64)> = BTreeMap::new();
    for entry in storage.ledger().iter().filter(|entry| entry.kind == EntryKind::Deposit) {
        for customer in ["", &entry.customer.0] {
            let (paid, taken) = found.entry((customer.to_owned(), entry.at.day())).or_default();
            let amount = entry.movement.available.0;
            // At the end of its range a sum stays there.
            *paid = paid.saturating_add(amount.max(0));
            *taken = taken.saturating_sub(amount.min(0));
        }
    }
    found
}

/// All keys of a table.
fn keys<K: TableKey + Ord, V: DeserializeOwned>(txn: &ReadTransaction, table: &Table<K, V>) -> BTreeSet<K> {
    let rows = table.open(txn).unwrap();
    rows.range(..).unwrap().map(|row| row.unwrap().key().unwrap()).collect()
}

/// All rows of a table, with their keys.
fn pairs<K: TableKey, V: DeserializeOwned>(txn: &ReadTransaction, table: &Table<K, V>) -> Vec<(K, V)> {
    let rows = table.open(txn).unwrap();
    let pair = |row: Entry<'_, K, V>| (row.key().unwrap(), row.row().unwrap());
    rows.range(..).unwrap().map(|row| pair(row.unwrap())).collect()
}

/// All rows of a table.
fn rows<K: TableKey, V: DeserializeOwned>(
    txn: &ReadTransaction,
    table: Table<K, V>,
) -> Result<Vec<V>, StoreError> {
    let mut rows = Vec::new();
    table.each(txn, |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

fn remember(storage: &mut MemoryLedgerStorage, command: Command) -> Result<Applied, Rejection> {
    match apply(storage, command) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// A store in memory.
fn memory_store() -> Store {
    Store::with_backend(redb::backends::InMemoryBackend::new(), &Config::default()).unwrap()
}

/// A store on a disk in memory.
fn store_on_disk() -> (Disk, Store) {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    (disk, store)
}

/// What the disk holds now, opened as by another process.
fn reopened(disk: &Disk) -> (Disk, Store) {
    let disk = Disk::of(disk.bytes());
    (disk.clone(), Store::with_backend(disk, &Config::default()).unwrap())
}

/// Makes two customers with money and three keys.
fn first_commands() -> impl Iterator<Item = Command> {
    beginning().into_iter().map(|template| template.command(&MemoryLedgerStorage::default(), START))
}

/// The same in a store. Waits for a server that is slow to answer.
async fn begin(store: &Store) {
    for command in first_commands() {
        store.execute_when_free(command, Durability::Immediate).await.unwrap().unwrap();
    }
}

/// The same in a store in memory.
async fn begun() -> Store {
    let store = memory_store();
    begin(&store).await;
    store
}

/// The same on a disk in memory.
async fn begun_on_disk() -> (Disk, Store) {
    let (disk, store) = store_on_disk();
    begin(&store).await;
    (disk, store)
}

/// A command of a caller that cannot give up.
fn patient(store: &Store, command: Command) -> JoinHandle<Result<(), StoreError>> {
    let store = store.clone();
    tokio::spawn(async move {
        let done = store.execute_when_free(command, Durability::Immediate).await;
        done.map(|done| drop(done.unwrap()))
    })
}

async fn close(store: Store) {
    tokio::task::spawn_blocking(move || store.close()).await.unwrap();
}

/// What the doctor finds once tables were changed by hand.
fn altered(store: &Store, alter: impl FnOnce(&WriteTransaction)) -> Vec<String> {
    let database = store.database().unwrap();
    let txn = database.begin_write().unwrap();
    alter(&txn);
    txn.commit().unwrap();
    drop(database);
    store.examine().unwrap().findings
}

/// The last lines of the audit record, newest first; with `task`, those about it alone.
async fn audited(store: &Store, task: Option<TaskId>, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
    let query = AuditQuery { task, ..AuditQuery::default() };
    let page = store.list_audit(query, None, limit).await?;
    Ok(page.rows.into_iter().map(|(_, record)| record).collect())
}

fn customer(name: &str) -> CustomerId {
    CustomerId(name.to_owned())
}

fn key(name: &str) -> KeyId {
    KeyId(name.to_owned())
}

/// A task id created that many minutes after the start, told apart by `number`.
fn minute(minutes: u64, number: u128) -> TaskId {
    TaskId::from_bits((u128::from(START.0 + minutes * 60_000) << 80) | number)
}

fn submit(task: Task) -> Command {
    Command::Submit { task: Box::new(task), idempotency: None }
}

/// The end of a task that never moved.
fn finish(id: TaskId, ending: Ending) -> Command {
    Command::Finish { id, revision: 0, ending, audit: None, at: START }
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}
