//! Deferred commands: acknowledged before the commit, kept in order, durable soon. Posted ones: the same, and nobody waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use gatehouse_model::Customer;
use gatehouse_sample::START;
use gatehouse_tasks::{Applied, Command};
use redb::ReadableDatabase as _;
use tokio::time::Instant;

use crate::config::Config;
use crate::error::StoreError;
use crate::layout;
use crate::store::Store;
use crate::tests::{customer, rows};
use crate::writer::{LINGER, Writer};
use gatehouse_fault_injection::{Disk, DiskFault, Op};

/// Whether it was woken.
#[derive(Default)]
pub(super) struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Woken {
    /// Whether it was, since the last call of this.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// Half of the linger time.
const HALF: Duration = Duration::from_millis(10);

pub(super) fn open(name: &str) -> Command {
    Command::AddCustomer { id: customer(name), policy: gatehouse_model::CustomerPolicy::default(), at: START }
}

/// A store on a disk in memory; its writer works in the background, and the clock stands still but for waits.
fn start() -> (Disk, Store) {
    let disk = Disk::default();
    let (store, writer) = Store::with_writer(disk.clone(), &Config::default()).unwrap();
    tokio::spawn(work(writer));
    (disk, store)
}

async fn work(mut writer: Writer) {
    while writer.run_batch().await {}
}

fn syncs(disk: &Disk) -> usize {
    disk.log().iter().filter(|op| matches!(op, Op::Sync)).count()
}

pub(super) fn names(store: &Store) -> Vec<String> {
    let txn = store.database().unwrap().begin_read().unwrap();
    rows(&txn, layout::CUSTOMERS).unwrap().into_iter().map(|customer: Customer| customer.id.0).collect()
}

/// What a start after a power cut at this moment finds.
fn after_a_cut(disk: &Disk) -> Vec<String> {
    let mut sure = Vec::new();
    let log = disk.log();
    let cut = gatehouse_fault_injection::Cut::at_end(&mut sure, &log);
    let image = cut.images(1, &mut fastrand::Rng::with_seed(1)).remove(0);
    names(&Store::with_backend(Disk::of(image), &Config::default()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_deferred_command_is_answered_before_its_commit() {
    let (disk, store) = start();
    let (before, started) = (syncs(&disk), Instant::now());
    assert_eq!(store.execute_deferred(open("deferred")).await, Ok(Ok(Applied::Done)));
    assert_eq!((syncs(&disk), started.elapsed()), (before, Duration::ZERO));
    assert!(names(&store).is_empty(), "readers see what is durable");
    assert!(after_a_cut(&disk).is_empty());
    // The next one builds on it.
    assert!(store.execute_deferred(open("deferred")).await.unwrap().is_err(), "there is one already");
    assert_eq!(syncs(&disk), before);
}

#[tokio::test(start_paused = true)]
async fn an_immediate_command_commits_the_deferred_ones_before_it() {
    let (disk, store) = start();
    let started = Instant::now();
    store.execute_deferred(open("deferred")).await.unwrap().unwrap();
    tokio::time::advance(HALF).await;
    store.execute(open("immediate")).await.unwrap().unwrap();
    assert_eq!(started.elapsed(), HALF);
    assert_eq!(names(&store), ["deferred", "immediate"]);
    assert_eq!(after_a_cut(&disk), ["deferred", "immediate"]);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_command_alone_is_durable_after_the_linger_time() {
    let (disk, store) = start();
    store.execute_deferred(open("first")).await.unwrap().unwrap();
    tokio::time::advance(HALF).await;
    store.execute_deferred(open("second")).await.unwrap().unwrap();
    assert!(names(&store).is_empty());
    // The moment counts from the first one: a stream of deferred commands does not put it off.
    tokio::time::advance(LINGER - HALF + Duration::from_millis(1)).await;
    tokio::task::yield_now().await;
    assert_eq!(names(&store), ["first", "second"]);
    assert_eq!(after_a_cut(&disk), ["first", "second"]);
}

#[tokio::test(start_paused = true)]
async fn a_flush_makes_deferred_commands_visible() {
    let (disk, store) = start();
    store.execute_deferred(open("deferred")).await.unwrap().unwrap();
    let started = Instant::now();
    store.flush().await.unwrap();
    assert_eq!((names(&store), started.elapsed()), (vec!["deferred".to_owned()], Duration::ZERO));
    assert_eq!(after_a_cut(&disk), ["deferred"]);
}

#[tokio::test(start_paused = true)]
async fn a_posted_command_is_durable_after_the_linger_time() {
    let (disk, store) = start();
    store.post(open("posted")).unwrap();
    tokio::task::yield_now().await;
    assert!(names(&store).is_empty());
    tokio::time::advance(LINGER + Duration::from_millis(1)).await;
    tokio::task::yield_now().await;
    assert_eq!(names(&store), ["posted"]);
    assert_eq!(after_a_cut(&disk), ["posted"]);
}

#[tokio::test(start_paused = true)]
async fn a_posted_command_comes_before_what_is_given_later() {
    let (disk, store) = start();
    // Without a transaction, then into an open one.
    for name in ["first", "second"] {
        store.post(open(name)).unwrap();
        assert!(store.execute_deferred(open(name)).await.unwrap().is_err(), "{name} is there already");
    }
    let before = syncs(&disk);
    store.post(open("third")).unwrap();
    store.flush().await.unwrap();
    assert_eq!(names(&store), ["first", "second", "third"], "one commit, before the flush is answered");
    assert!(syncs(&disk) > before);
}

#[tokio::test(start_paused = true)]
async fn a_posted_command_does_not_wake_a_writer_with_an_open_transaction() {
    let disk = Disk::default();
    let (store, mut writer) = Store::with_writer(disk.clone(), &Config::default()).unwrap();
    store.post(open("wakes")).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut batch = Box::pin(writer.run_batch());
    assert!(batch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    for name in ["a", "b"] {
        store.post(open(name)).unwrap();
    }
    assert!(!woken.take());
    assert!(batch.await);
    assert_eq!(names(&store), ["a", "b", "wakes"]);
    store.post(open("later")).unwrap();
    assert!(writer.run_batch().await);
    assert_eq!(names(&store), ["a", "b", "later", "wakes"]);
}

#[tokio::test(start_paused = true)]
async fn posted_commands_need_no_room_in_the_queue() {
    let disk = Disk::default();
    let config = Config { queue: 1, ..Config::default() };
    let (store, writer) = Store::with_writer(disk.clone(), &config).unwrap();
    let posted: Vec<_> = (0..20).map(|number| format!("{number:02}")).collect();
    posted.iter().for_each(|name| store.post(open(name)).unwrap());
    assert_eq!(store.execute(open("x")).await, Err(StoreError::Busy), "the queue is full");
    tokio::spawn(work(writer));
    tokio::task::yield_now().await;
    store.flush().await.unwrap();
    assert_eq!(names(&store), posted);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_posted_command_changes_nothing() {
    let (_, store) = start();
    store.execute(open("there")).await.unwrap().unwrap();
    store.post(open("there")).unwrap();
    store.post(open("new")).unwrap();
    store.flush().await.unwrap();
    assert_eq!(names(&store), ["new", "there"]);
}

#[tokio::test(start_paused = true)]
async fn closing_commits_deferred_and_posted_commands() {
    for (deferred, posted) in [(true, false), (false, true), (true, true)] {
        let disk = Disk::default();
        let (store, writer) = Store::with_writer(disk.clone(), &Config::default()).unwrap();
        let working = tokio::spawn(work(writer));
        if deferred {
            store.execute_deferred(open("deferred")).await.unwrap().unwrap();
        }
        if posted {
            store.post(open("posted")).unwrap();
        }
        store.close();
        working.await.unwrap();
        let expected = [("deferred", deferred), ("posted", posted)].into_iter().filter(|(_, given)| *given);
        assert_eq!(after_a_cut(&disk), expected.map(|(name, _)| name).collect::<Vec<_>>());
        assert_eq!(store.post(open("late")), Err(StoreError::Closed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_store_takes_no_posted_command() {
    let (disk, store) = start();
    store.execute_deferred(open("deferred")).await.unwrap().unwrap();
    disk.break_by(DiskFault::Change(0));
    store.post(open("posted")).unwrap();
    assert!(store.flush().await.is_err());
    assert!(matches!(store.post(open("late")), Err(StoreError::Failed { .. })));
    assert!(after_a_cut(&disk).is_empty());
}
