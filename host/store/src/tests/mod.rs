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

use gatehouse_model::{Credits, Customer, CustomerId, Digest, Key, KeyId, Phase, Task, TaskId};
use gatehouse_sample::{START, beginning};
use gatehouse_tasks::{
    Applied, AuditRecord, Command, EntryKind, Hold, HoldId, IdempotencyRecord, JournalEntry,
    MemoryLedgerStorage, NameRecord, Rejection, UsageKey, UsageSums, apply,
};
use redb::{ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use serde::de::DeserializeOwned;

use crate::administration::pages::AuditQuery;
use crate::config::Config;
use crate::error::StoreError;
use crate::layout::{self, Day, Row, UsageHours};
use crate::row::decode;
use crate::store::Store;
use crate::tables;

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
    hold_expiry: BTreeSet<(u64, [u8; 17])>,
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
        let mut days: Vec<u32> =
            txn.list_tables().unwrap().filter_map(|table| layout::task_index_day(&table)).collect();
        days.sort_unstable();
        let (mut task_index, mut finished) = (BTreeSet::new(), vec![]);
        for day in days {
            let day = Day::new(day);
            task_index.extend(each(&txn.open_table(day.task_index()).unwrap(), |row| {
                let (customer, status, model, id) = row.0.value();
                (customer.to_owned(), status.to_owned(), model.to_owned(), id)
            }));
            if txn.list_tables().unwrap().any(|table| table.name() == day.history().name()) {
                finished.extend(rows::<u128, Task>(&txn, day.history()).unwrap());
            }
        }
        let mut usage_hours = BTreeMap::new();
        for day in txn.list_tables().unwrap().filter_map(|table| layout::usage_hours_day(&table)) {
            usage_hours.extend(usage_rows(&txn.open_table(UsageHours::new(day).table()).unwrap()));
        }
        let mut statements: BTreeMap<(String, String), Vec<(u64, Credits)>> = BTreeMap::new();
        for row in txn.open_table(layout::LEDGER_INDEX).unwrap().iter().unwrap() {
            let (key, row) = row.unwrap();
            let (kind, owner, _) = key.value();
            let listed: Vec<(u64, Credits)> = decode("ledger-index", row.value()).unwrap();
            statements.entry((kind.to_owned(), owner.to_owned())).or_default().extend(listed);
        }
        let deposits = txn.open_table(layout::DEPOSIT_DAYS).unwrap();
        let paid = |(key, sums): Guards<'_, (&str, u32), (i64, i64)>| {
            let (customer, day) = key.value();
            ((customer.to_owned(), day), sums.value())
        };
        let digests = txn.open_table(layout::KEY_DIGESTS).unwrap();
        let hold_expiry = txn.open_table(layout::HOLD_EXPIRY).unwrap();
        let expiry = txn.open_table(layout::IDEMPOTENCY_EXPIRY).unwrap();
        Self {
            customers: rows(&txn, layout::CUSTOMERS).unwrap(),
            without_credit: each(&txn.open_table(layout::WITHOUT_CREDIT).unwrap(), |row| {
                row.0.value().to_owned()
            }),
            keys: rows(&txn, layout::KEYS).unwrap(),
            key_digests: each(&digests, |row| (row.0.value(), row.1.value().to_owned())),
            live: rows(&txn, layout::LIVE).unwrap(),
            finished,
            task_index,
            usage_days: usage_rows(&txn.open_table(layout::USAGE_DAYS).unwrap()),
            usage_hours,
            statements,
            deposit_days: deposits.iter().unwrap().map(|row| paid(row.unwrap())).collect(),
            holds: rows(&txn, layout::HOLDS).unwrap(),
            hold_expiry: each(&hold_expiry, |row| row.0.value()),
            ledger: rows(&txn, layout::LEDGER).unwrap(),
            idempotency_records: rows(&txn, layout::IDEMPOTENCY).unwrap(),
            idempotency_expiry: each(&expiry, |row| {
                let (at, key, token) = row.0.value();
                (at, key.to_owned(), token)
            }),
            audit_records: rows(&txn, layout::AUDIT).unwrap(),
            names: rows(&txn, layout::NAMES).unwrap(),
            name_owners: each(&txn.open_table(layout::NAME_OWNERS).unwrap(), |row| {
                (row.0.value().to_owned(), row.1.value().to_owned())
            }),
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

fn usage_rows(table: &impl ReadableTable<layout::UsageRowKey, Row>) -> BTreeMap<UsageRowKey, UsageSums> {
    let row = |(key, sums): Guards<'_, layout::UsageRowKey, Row>| {
        let (customer, name, period, model) = key.value();
        let key = (customer.to_owned(), name.to_owned(), period, model.to_owned());
        (key, decode("usage", sums.value()).unwrap())
    };
    table.iter().unwrap().map(|found| row(found.unwrap())).collect()
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

type Guards<'a, K, V> = (redb::AccessGuard<'a, K>, redb::AccessGuard<'a, V>);

fn each<K: redb::Key + 'static, V: redb::Value + 'static, T: Ord>(
    table: &impl ReadableTable<K, V>,
    read: impl Fn(Guards<'_, K, V>) -> T,
) -> BTreeSet<T> {
    table.iter().unwrap().map(|row| read(row.unwrap())).collect()
}

/// All rows of a table.
fn rows<K: redb::Key + 'static, T: DeserializeOwned>(
    txn: &ReadTransaction,
    table: TableDefinition<'_, K, Row>,
) -> Result<Vec<T>, StoreError> {
    let mut rows = Vec::new();
    tables::each(txn, table, |row| {
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

/// Two customers with money and three keys.
async fn begin(store: &Store) {
    for template in beginning() {
        let command = template.command(&MemoryLedgerStorage::default(), START);
        store.execute(command).await.unwrap().unwrap();
    }
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

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}
