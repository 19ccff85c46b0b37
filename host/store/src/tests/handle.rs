//! Opening, closing, crowding and failing.

use std::sync::mpsc;

use futures_util::FutureExt as _;
use gatehouse_model::Credits;
use gatehouse_sample::{START, customer_id, task, task_id};
use gatehouse_tasks::{Applied, Command, Rejection};
use tokio::task::JoinSet;

use super::deferred::open as add_customer;
use super::{Dump, begin, begun, begun_on_disk, memory_store, reopened};
use crate::config::Config;
use crate::error::{OpenError, StoreError};
use crate::store::Store;
use crate::table::definition;
use crate::transaction::open::commit;
use crate::writer::Durability;
use gatehouse_fault_injection::{Disk, DiskFault};

pub(super) fn submit(number: u8, price: i64) -> Command {
    super::submit(task(number, 0, 0, price, START))
}

#[tokio::test]
async fn a_file_keeps_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    begin(&store).await;
    assert_eq!(store.execute(submit(1, 10)).await.unwrap(), Ok(Applied::Submitted(task_id(1))));
    let before = Dump::of_store(&store);
    drop(store);
    let store = Store::open(&path, &Config::default()).unwrap();
    assert_eq!(Dump::of_store(&store), before);
    assert!(store.examine().unwrap().is_clean());
}

#[test]
fn a_second_process_cannot_open_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    let error = Store::open(&path, &Config::default()).err().unwrap();
    assert!(matches!(error, OpenError::Locked { .. }));
    let told = error.to_string();
    assert!(told.contains("core.redb: another gatehouse process has this store open"), "{told}");
    store.close();
    Store::open(&path, &Config::default()).unwrap();
}

#[test]
fn a_file_of_another_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
    let error = Store::open(&path, &Config::default()).err().unwrap();
    assert!(matches!(error, OpenError::Storage { .. }), "{error}");
    let error = Store::open(&folder.path().join("no/such/folder"), &Config::default()).err().unwrap();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

/// Makes the row of the live task 1 unreadable; the error of those that need it.
pub(super) fn spoil(store: &Store) -> StoreError {
    let txn = store.database().unwrap().begin_write().unwrap();
    let key = task_id(1).bits().to_be_bytes();
    txn.open_table(definition("live")).unwrap().insert(key.as_slice(), [9, 0x80].as_slice()).unwrap();
    txn.commit().unwrap();
    StoreError::Unreadable { table: "live".into(), problem: "expected encoding 1, not 9".into() }
}

#[tokio::test]
async fn an_unknown_encoding_is_told_and_stops_the_writer() {
    let store = begun().await;
    let expected = spoil(&store);
    assert_eq!(store.task(task_id(1)).await, Err(expected.clone()));
    assert_eq!(store.live_tasks(None).await, Err(expected.clone()));
    assert_eq!(store.examine(), Err(expected.clone()));
    // A reader can go on; the writer must not guess.
    assert!(!store.has_failed());
    assert_eq!(store.execute(submit(1, 10)).await, Err(expected.clone()));
    assert_eq!(store.failed().await, expected);
}

#[tokio::test]
async fn a_rejected_command_leaves_its_batch_intact() {
    let (mixed, plain) = (begun().await, begun().await);
    let good = [submit(1, 10), submit(2, 20), submit(3, 30)];
    let bad = submit(4, 1_000);
    let [first, second, third] = good.clone();
    let batch = vec![bad.clone(), first.clone(), bad.clone(), first, second, bad, third];
    let verdicts = commit(&mixed.database().unwrap(), batch).unwrap();
    let short = |available| {
        Err(Rejection::InsufficientBalance { needed: Credits(1_000), available: Credits(available) })
    };
    assert_eq!(
        verdicts,
        [
            short(300),
            Ok(Applied::Submitted(task_id(1))),
            short(290),
            Err(Rejection::TaskExists(task_id(1))),
            Ok(Applied::Submitted(task_id(2))),
            short(270),
            Ok(Applied::Submitted(task_id(3))),
        ]
    );
    commit(&plain.database().unwrap(), good.to_vec()).unwrap();
    assert_eq!(Dump::of_store(&mixed), Dump::of_store(&plain));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_share_the_writer() {
    let store = begun().await;
    let mut callers = JoinSet::new();
    for number in 0..200_u8 {
        let store = store.clone();
        callers.spawn(async move { store.execute(submit(number, 2)).await.unwrap() });
    }
    let verdicts = callers.join_all().await;
    // The customer holds 300: exactly 150 fit, any of them.
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_ok()).count(), 150);
    let customer = store.customer(&customer_id(0)).await.unwrap().unwrap();
    assert_eq!((customer.available, customer.reserved), (Credits::ZERO, Credits(300)));
    assert!(store.examine().unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_commands_and_recovers() {
    let disk = Disk::default();
    let config = Config { queue: 1, batch: 1, ..Config::default() };
    let store = Store::with_backend(disk.clone(), &config).unwrap();
    let (arrived, arrivals) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    disk.break_by(DiskFault::Gate(arrived, wait));

    let first = tokio::spawn({
        let store = store.clone();
        async move { store.execute(add_customer("first")).await }
    });
    // The writer has taken the first and is inside its commit.
    arrivals.recv().unwrap();
    let mut second = Box::pin(store.execute(add_customer("second")));
    assert!(second.as_mut().now_or_never().is_none());
    assert_eq!(store.execute(add_customer("third")).await, Err(StoreError::Busy));
    let mut patient = Box::pin(store.execute_when_free(add_customer("patient"), Durability::Immediate));
    assert!(patient.as_mut().now_or_never().is_none());
    // Enough for every sync of the four commits.
    for _ in 0..64 {
        go_on.send(()).unwrap();
    }
    assert_eq!(first.await.unwrap(), Ok(Ok(Applied::Done)));
    assert_eq!(second.await, Ok(Ok(Applied::Done)));
    assert_eq!(patient.await, Ok(Ok(Applied::Done)));
    assert_eq!(store.execute(add_customer("third")).await, Ok(Ok(Applied::Done)));
    disk.break_by(DiskFault::None);
    assert_eq!(store.count_customers().await.unwrap(), 4);
}

#[tokio::test]
async fn what_was_queued_is_done_before_closing() {
    let store = memory_store();
    let mut queued = Box::pin(store.execute(add_customer("last")));
    let early = queued.as_mut().now_or_never();
    store.close();
    let answer = match early {
        Some(answer) => answer,
        None => queued.await,
    };
    assert_eq!(answer, Ok(Ok(Applied::Done)));
    assert_eq!(store.execute(add_customer("late")).await, Err(StoreError::Closed));
    assert_eq!(store.clone().count_customers().await, Err(StoreError::Closed));
    assert!(!store.has_failed());
    store.close();
}

/// A disk breaks under a store with one customer; every caller gets the error, and a restart finds a whole state.
async fn broken_by(fault: DiskFault, reason: &str) {
    let (disk, store) = begun_on_disk().await;
    let before = Dump::of_store(&store);
    disk.break_by(fault);
    let error = store.execute(submit(1, 10)).await.unwrap_err();
    assert!(matches!(&error, StoreError::Failed { reason: text } if text.contains(reason)), "{error}");
    assert!(store.has_failed());
    assert_eq!(store.failed().await, error);
    assert_eq!(store.execute(submit(2, 10)).await, Err(error.clone()));
    assert_eq!(store.task(task_id(1)).await, Err(error.clone()));
    assert_eq!(store.live_tasks(None).await, Err(error));
    store.close();
    drop(store);

    let (_, restarted) = reopened(&disk);
    let after = Dump::of_store(&restarted);
    let made = after.live.iter().any(|task| task.id == task_id(1));
    assert!(after == before || (made && after.ledger.len() == before.ledger.len() + 1));
    assert!(restarted.examine().unwrap().is_clean());
}

#[tokio::test]
async fn a_storage_error_is_final() {
    broken_by(DiskFault::FailSync, "on fire").await;
}

#[tokio::test]
async fn a_panic_of_the_writer_is_final() {
    broken_by(DiskFault::PanicSync, "the writer panicked: the disk fell over").await;
}
