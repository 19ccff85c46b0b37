//! A full disk: what is written waits for room and is then there, what can be refused is refused, reads go on, and an
//! end or a start in the middle finds everything that was acknowledged.

use gatehouse_tasks::Command;
use gatehouse_tasks::sample::START;
use redb::StorageBackend as _;

use crate::config::Config;
use crate::durability::Durability;
use crate::error::StoreError;
use crate::fault_injection::{Disk, DiskFault};
use crate::store::Store;
use crate::tests::{Dump, begin};

fn audit(text: &str) -> Command {
    Command::Audit { task: None, text: text.into(), at: START }
}

/// More than the free pages of a new file hold.
fn large(letter: &str) -> Command {
    audit(&letter.repeat(400_000))
}

/// A store on a disk that is full, with a commit that waits for room.
async fn on_full_disk() -> (Disk, Store, tokio::task::JoinHandle<Result<(), StoreError>>) {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    begin(&store).await;
    assert!(!store.waits_for_room());
    disk.break_by(DiskFault::Full);
    let writing = {
        let store = store.clone();
        tokio::spawn(async move {
            store.execute_when_free(large("a"), Durability::Immediate).await.map(|done| drop(done.unwrap()))
        })
    };
    store.until_waiting_for_room().await;
    (disk, store, writing)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_waits_for_room_and_reads_go_on() {
    let (disk, store, writing) = on_full_disk().await;
    assert_eq!(store.execute(audit("b")).await, Err(StoreError::NoRoom));
    assert_eq!(store.execute_deferred(audit("b")).await, Err(StoreError::NoRoom));
    assert_eq!(store.flush().await, Err(StoreError::NoRoom));
    assert_eq!(store.customers().unwrap().len(), 2);
    assert_eq!(store.audit(None, 9).unwrap().len(), 0, "nothing of the waiting commit is seen");
    assert!(!store.has_failed() && !writing.is_finished());

    disk.break_by(DiskFault::None);
    writing.await.unwrap().unwrap();
    assert!(!store.waits_for_room());
    store.execute(audit("c")).await.unwrap().unwrap();
    assert_eq!(store.audit(None, 9).unwrap().len(), 2);
    assert!(store.examine().unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_full_disk_closes_and_opens_again_there() {
    let (disk, store, writing) = on_full_disk().await;
    let before = Dump::of_store(&store);
    tokio::task::spawn_blocking(move || store.close()).await.unwrap();
    assert!(matches!(writing.await.unwrap(), Err(StoreError::Failed { .. })), "it was never acknowledged");

    // A killed process leaves the same bytes.
    let again = Disk::of(disk.bytes());
    again.break_by(DiskFault::Full);
    let opened = again.clone();
    let store = tokio::task::spawn_blocking(move || Store::with_backend(opened, &Config::default()));
    let store = store.await.unwrap().unwrap();
    assert_eq!(Dump::of_store(&store), before);
    assert!(!store.waits_for_room());
    again.break_by(DiskFault::None);
    store.execute(large("a")).await.unwrap().unwrap();
    assert!(store.examine().unwrap().is_clean());
}

#[test]
fn a_full_disk_writes_only_what_it_has_room_for() {
    let disk = Disk::default();
    disk.set_len(3 * 4096).unwrap();
    disk.write(0, b"header").unwrap();
    disk.break_by(DiskFault::Full);
    disk.write(100, b"in place").unwrap();
    for offset in [4096, 4090] {
        let error = disk.write(offset, b"a new block").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
    assert_eq!(disk.bytes()[4090..4110], [0; 20]);
}
