//! A full disk: what is written waits for room and is then there, what can be refused is refused, reads go on, and an
//! end or a start in the middle finds everything that was acknowledged.

use std::sync::Arc;

use gatehouse_sample::audit;
use gatehouse_tasks::Command;
use redb::StorageBackend as _;

use crate::config::Config;
use crate::disk_full::WaitingBackend;
use crate::error::StoreError;
use crate::store::Store;
use crate::tests::{Dump, audited, begun_on_disk, close, patient, reopened};
use crate::wait::WriterWait;
use gatehouse_fault_injection::{Disk, DiskFault};

/// More than the free pages of a new file hold.
fn large(letter: &str) -> Command {
    audit(letter.repeat(400_000))
}

/// How a full disk shows, and a command that meets it: a write finds no room, or only the sync of a commit does, and drops
/// what was written.
fn full() -> [(DiskFault, Command); 2] {
    [(DiskFault::Full, large("a")), (DiskFault::FullAtSync, audit("a"))]
}

/// A store on a disk that is full, with a commit that waits for room.
async fn on_full_disk(
    (full, command): (DiskFault, Command),
) -> (Disk, Store, tokio::task::JoinHandle<Result<(), StoreError>>) {
    let (disk, store) = begun_on_disk().await;
    assert!(!store.waits_for_room());
    disk.break_by(full);
    let writing = patient(&store, command);
    store.until_waiting().await;
    (disk, store, writing)
}

async fn wait_and_go_on(full: (DiskFault, Command)) {
    let (disk, store, writing) = on_full_disk(full).await;
    assert_eq!(store.execute(audit("b")).await, Err(StoreError::NoRoom));
    assert_eq!(store.execute_deferred(audit("b")).await, Err(StoreError::NoRoom));
    assert_eq!(store.flush().await, Err(StoreError::NoRoom));
    assert_eq!(store.count_customers().await.unwrap(), 2);
    assert_eq!(audited(&store, None, 9).await.unwrap().len(), 0, "nothing of the waiting commit is seen");
    assert!(!store.has_failed() && !writing.is_finished());

    disk.break_by(DiskFault::None);
    writing.await.unwrap().unwrap();
    assert!(!store.waits_for_room());
    store.execute(audit("c")).await.unwrap().unwrap();
    assert_eq!(audited(&store, None, 9).await.unwrap().len(), 2);
    assert!(store.examine().unwrap().is_clean());

    // Not only the store's memory has it: a process that is killed now leaves it to the next one.
    let (_, left) = reopened(&disk);
    assert_eq!(Dump::of_store(&left), Dump::of_store(&store));
    assert!(left.examine().unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_waits_for_room_and_reads_go_on() {
    for full in full() {
        wait_and_go_on(full).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_full_disk_closes_and_opens_again_there() {
    for full in full() {
        close_and_open(full).await;
    }
}

async fn close_and_open(full: (DiskFault, Command)) {
    let (disk, store, writing) = on_full_disk(full).await;
    let before = Dump::of_store(&store);
    close(store).await;
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

/// A file that has to grow is made sure of while no read can begin: nobody waits there, the store fails, and the next start
/// has everything that was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_grow_for_sure_fails_the_store() {
    let (disk, store) = begun_on_disk().await;
    let before = Dump::of_store(&store);
    disk.break_by(DiskFault::FullAtSync);
    let error = store.execute(large("a")).await.unwrap_err();
    assert!(matches!(error, StoreError::Failed { .. }) && store.has_failed(), "{error}");
    store.close();
    let (_, again) = reopened(&disk);
    assert_eq!(Dump::of_store(&again), before);
    assert!(again.examine().unwrap().is_clean());
}

/// More bytes than are kept cannot be written again, so their sync is not repeated: its error ends the store.
#[test]
fn a_sync_of_too_much_to_write_again_fails() {
    let (disk, wait) = (Disk::default(), Arc::new(WriterWait::default()));
    let backend = WaitingBackend::new(disk.clone(), Arc::clone(&wait));
    let piece = vec![1; 1 << 20];
    (0..65).for_each(|_| backend.write(0, &piece).unwrap());
    disk.break_by(DiskFault::FullAtSync);
    assert_eq!(backend.sync_data().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert!(wait.waits().is_none());
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
