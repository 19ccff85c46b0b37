//! Deferred commands that their callers apply themselves, to the transaction that the writer has open.

use std::sync::Arc;
use std::task::{Context, Waker};

use futures_util::FutureExt;
use gatehouse_tasks::Applied;

use crate::config::Config;
use crate::store::Store;
use crate::tests::begun_on_disk;
use crate::tests::deferred::{Woken, names, open};
use crate::tests::handle::{spoil, submit};
use gatehouse_fault_injection::Disk;

fn woken() -> (Arc<Woken>, Waker) {
    let woken = Arc::<Woken>::default();
    (Arc::clone(&woken), Waker::from(woken))
}

#[tokio::test(start_paused = true)]
async fn a_deferred_command_is_applied_without_the_writer() {
    let (store, mut writer) = Store::with_writer(Disk::default(), &Config::default()).unwrap();
    let (woken, waker) = woken();
    assert_eq!(store.execute_deferred(open("early")).now_or_never(), None, "nothing is open");
    let mut batch = Box::pin(writer.run_batch());
    assert!(batch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    store.post(open("posted")).unwrap();
    for name in ["a", "b"] {
        let applied = store.execute_deferred(open(name)).now_or_never();
        assert_eq!(applied, Some(Ok(Ok(Applied::Done))));
    }
    // What was posted came before, and what was answered is what the next command finds.
    for name in ["posted", "a", "early"] {
        assert!(store.execute_deferred(open(name)).now_or_never().unwrap().unwrap().is_err(), "{name}");
    }
    assert!(!woken.take());
    assert_eq!(store.execute(open("lasting")).now_or_never(), None, "it waits for its commit");
    assert!(woken.take());
    assert!(batch.await);
    assert_eq!(names(&store), ["a", "b", "early", "lasting", "posted"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_transaction_takes_no_more() {
    let config = Config { batch: 2, ..Config::default() };
    let (store, mut writer) = Store::with_writer(Disk::default(), &config).unwrap();
    let (woken, waker) = woken();
    store.post(open("first")).unwrap();
    let mut batch = Box::pin(writer.run_batch());
    assert!(batch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(store.execute_deferred(open("second")).now_or_never().is_some());
    let mut third = Box::pin(store.execute_deferred(open("third")));
    assert_eq!(third.as_mut().now_or_never(), None);
    assert!(woken.take(), "the writer commits, and takes it");
    assert!(batch.await);
    assert_eq!(third.await, Ok(Ok(Applied::Done)));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_fails_ends_the_writer() {
    let (disk, store) = begun_on_disk().await;
    let expected = spoil(&store);
    let before = names(&store);
    store.close();

    let (store, mut writer) = Store::with_writer(disk.clone(), &Config::default()).unwrap();
    let (woken, waker) = woken();
    store.post(open("posted")).unwrap();
    let mut batch = Box::pin(writer.run_batch());
    assert!(batch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(store.execute_deferred(submit(1, 10)).now_or_never(), Some(Err(expected.clone())));
    assert!(woken.take());
    assert!(!batch.await, "the writer ends");
    assert_eq!(store.failed().await, expected);
    assert_eq!(store.execute_deferred(open("late")).await, Err(expected));
    drop((store, writer));
    let store = Store::with_backend(disk, &Config::default()).unwrap();
    assert_eq!(names(&store), before, "nothing of the transaction is kept");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_leaves_nothing_open() {
    let (store, mut writer) = Store::with_writer(Disk::default(), &Config::default()).unwrap();
    let (_, waker) = woken();
    store.post(open("lost")).unwrap();
    let mut batch = Box::pin(writer.run_batch());
    assert!(batch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(store.execute_deferred(open("lost too")).now_or_never().is_some());
    drop(batch);
    // Still marked as open, so it does not wake the writer; the next command does.
    store.post(open("posted")).unwrap();
    let mut kept = Box::pin(store.execute(open("kept")));
    assert!(kept.as_mut().now_or_never().is_none());
    assert!(writer.run_batch().await);
    assert_eq!(kept.await, Ok(Ok(Applied::Done)));
    assert_eq!(names(&store), ["kept", "posted"]);
}
