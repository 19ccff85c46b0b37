//! Stores of earlier schemas are brought up to date when they are opened, whatever interrupts it.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use gatehouse_model::{Credits, Usage};
use gatehouse_sample::{START, customer_id, key_id, request_id};
use gatehouse_tasks::{Command, UsageSums};
use redb::{ReadableDatabase as _, TableDefinition, WriteTransaction};

use super::Dump;
use super::crash::Checkpoint;
use crate::TaskQuery;
use crate::config::Config;
use crate::layout::{self, Day, UsageHours};
use crate::store::Store;
use crate::transaction::open::commit;
use gatehouse_fault_injection::{Disk, each_cut};

const COMMANDS: usize = 60;

/// A file of schema 1 with tasks of several days: owners by customer and id, and no index.
fn schema_1(checkpoint: &Checkpoint, commands: Vec<Command>) -> Vec<u8> {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    let database = store.database().unwrap();
    drop(commit(&database, commands).unwrap());
    let txn = database.begin_write().unwrap();
    let days: Vec<u32> =
        txn.list_tables().unwrap().filter_map(|table| layout::task_index_day(&table)).collect();
    assert!(days.len() > 2, "{days:?}");
    for day in days {
        txn.delete_table(Day::new(day).task_index()).unwrap();
    }
    for (customer, _, _, id) in checkpoint.dump.task_index.iter().filter(|row| !row.0.is_empty()) {
        let name = format!("owners-{}", gatehouse_model::TaskId::from_bits(*id).timestamp().day());
        let owners: TableDefinition<'_, (&str, u128), ()> = TableDefinition::new(&name);
        txn.open_table(owners).unwrap().insert((customer.as_str(), *id), ()).unwrap();
    }
    drop_what_schema_3_added(&txn);
    txn.open_table(layout::META).unwrap().insert(layout::SCHEMA_KEY, 1).unwrap();
    txn.commit().unwrap();
    drop(database);
    store.close();
    disk.bytes()
}

/// And what schema 4 added.
fn drop_what_schema_3_added(txn: &WriteTransaction) {
    assert!(txn.delete_table(layout::DEPOSIT_DAYS).unwrap());
    for list in [txn.delete_table(layout::TROUBLED_WEBHOOKS), txn.delete_table(layout::WITHOUT_CREDIT)] {
        assert!(list.unwrap());
    }
    assert!(txn.delete_table(layout::LEDGER_INDEX).unwrap() && txn.delete_table(layout::USAGE_DAYS).unwrap());
    let days: Vec<u32> =
        txn.list_tables().unwrap().filter_map(|table| layout::usage_hours_day(&table)).collect();
    for day in days {
        assert!(txn.delete_table(UsageHours::new(day).table()).unwrap());
    }
}

/// A file of schema 2: an index of tasks by customer alone.
fn schema_2(commands: Vec<Command>) -> Vec<u8> {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    let database = store.database().unwrap();
    drop(commit(&database, commands).unwrap());
    let txn = database.begin_write().unwrap();
    let days: Vec<u32> =
        txn.list_tables().unwrap().filter_map(|table| layout::task_index_day(&table)).collect();
    for day in days {
        let day = Day::new(day);
        txn.open_table(day.task_index()).unwrap().retain(|(customer, ..), ()| !customer.is_empty()).unwrap();
    }
    drop_what_schema_3_added(&txn);
    txn.open_table(layout::META).unwrap().insert(layout::SCHEMA_KEY, 2).unwrap();
    txn.commit().unwrap();
    drop(database);
    store.close();
    disk.bytes()
}

/// Requests that were released have no model in an old file: their sums are those of the ledger all the same.
fn without_usage(dump: Dump) -> Dump {
    Dump { usage_days: BTreeMap::new(), usage_hours: BTreeMap::new(), ..dump }
}

fn assert_up_to_date(store: &Store, checkpoint: &Checkpoint) {
    assert_eq!(without_usage(Dump::of_store(store)), without_usage(checkpoint.dump.clone()));
    assert!(store.examine().unwrap().is_clean());
    let database = store.database().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(txn.list_tables().unwrap().filter(layout::is_owners).count(), 0);
    let meta = txn.open_table(layout::META).unwrap();
    assert_eq!(meta.get(layout::SCHEMA_KEY).unwrap().unwrap().value(), layout::SCHEMA);
}

#[tokio::test]
async fn a_store_without_index_gets_one_when_it_is_opened() {
    let (commands, checkpoint) = Checkpoint::empty(3, 300).next_batch(COMMANDS);
    let store = Store::with_backend(Disk::of(schema_1(&checkpoint, commands)), &Config::default()).unwrap();
    assert_up_to_date(&store, &checkpoint);
    for customer in checkpoint.storage.customers() {
        let query = TaskQuery { limit: 1000, ..TaskQuery::default() };
        let listed = store.list_tasks(&customer.id, query).await.unwrap().tasks;
        let mut expected: Vec<_> =
            checkpoint.storage.live_tasks().chain(checkpoint.storage.finished_tasks()).collect();
        expected.retain(|task| task.customer == customer.id);
        expected.sort_by_key(|task| std::cmp::Reverse(task.id));
        assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
    }
    let (commands, checkpoint) = checkpoint.next_batch(9);
    drop(commit(&store.database().unwrap(), commands).unwrap());
    assert_up_to_date(&store, &checkpoint);
}

#[tokio::test]
async fn a_store_of_the_release_before_is_filled_from_its_ledger() {
    // The first sequence that keeps a task that has ended.
    let (mut commands, checkpoint) = (5..)
        .map(|seed| Checkpoint::empty(seed, 300).next_batch(COMMANDS))
        .find(|(_, checkpoint)| checkpoint.storage.finished_tasks().next().is_some())
        .unwrap();
    let (text, at) = (request_id(200), START.plus(Duration::from_secs(900_000)));
    let amount = Credits(9);
    let (key, expires) = (key_id(0), at.plus(Duration::from_secs(60)));
    let hold = Command::Hold { id: text, key, amount, model: String::new(), expires, at };
    let memo = "lm-1: 700 in, 30 out, 5 cached, 2 cache written".to_owned();
    let settle = Command::Settle { id: text, amount, memo, tokens: Usage::default(), at };
    let funds = Command::Deposit { customer: customer_id(0), amount, memo: String::new(), at };
    commands.extend([funds, hold, settle]);
    let store = Store::with_backend(Disk::of(schema_2(commands)), &Config::default()).unwrap();
    let report = store.examine().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let dump = Dump::of_store(&store);
    assert_eq!(dump.task_index, checkpoint.dump.task_index);
    let row = ("customer-0".to_owned(), "key0".to_owned(), at.day(), "lm-1".to_owned());
    let sums = UsageSums {
        requests: 1,
        input: 700,
        output: 30,
        cached: 5,
        cache_write: 2,
        settled: amount,
        ..UsageSums::default()
    };
    assert_eq!(dump.usage_days.get(&row), Some(&sums));
    // Tasks count for their models.
    let of_tasks = |dump: &Dump| {
        let tasks = dump.usage_days.iter().filter(|(row, _)| row.0.is_empty() && row.3.starts_with("model-"));
        tasks.map(|(_, sums)| sums.requests).sum::<u64>()
    };
    let (told, known) = (of_tasks(&dump), of_tasks(&checkpoint.dump));
    assert!(told > 0 && told <= known, "{told} of {known}");
}

#[test]
fn a_power_cut_while_the_index_is_built_loses_nothing() {
    let (commands, checkpoint) = Checkpoint::empty(4, 9_000).next_batch(COMMANDS);
    let old = schema_1(&checkpoint, commands);
    let disk = Disk::of(old.clone());
    Store::with_backend(disk.clone(), &Config::default()).unwrap().close();
    let (mut random, mut images) = (Rng::with_seed(7), 0);
    each_cut(old, &disk.log(), |cut| {
        for image in cut.images(8, &mut random) {
            let store = Store::with_backend(Disk::of(image), &Config::default())
                .map_err(|error| format!("cut {}: {error}", cut.at))?;
            assert_up_to_date(&store, &checkpoint);
            images += 1;
        }
        Ok(())
    })
    .unwrap();
    assert!(images > 50, "{images}");
}
