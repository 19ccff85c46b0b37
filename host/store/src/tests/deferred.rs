//! Deferred commands: acknowledged before the commit, kept in order, durable soon.

use std::time::Duration;

use gatehouse_tasks::sample::START;
use gatehouse_tasks::{Applied, Command};
use tokio::time::Instant;

use crate::config::Config;
use crate::fault_injection::{Disk, Op};
use crate::store::Store;
use crate::tests::customer;
use crate::writer::{LINGER, Writer};

/// Half of the linger time.
const HALF: Duration = Duration::from_millis(10);

fn open(name: &str) -> Command {
    Command::AddCustomer { id: customer(name), at: START }
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

fn names(store: &Store) -> Vec<String> {
    store.customers().unwrap().into_iter().map(|customer| customer.id.0).collect()
}

/// What a start after a power cut at this moment finds.
fn after_a_cut(disk: &Disk) -> Vec<String> {
    let mut sure = Vec::new();
    let log = disk.log();
    let cut = crate::fault_injection::Cut::at_end(&mut sure, &log);
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
async fn closing_commits_deferred_commands() {
    let disk = Disk::default();
    let (store, writer) = Store::with_writer(disk.clone(), &Config::default()).unwrap();
    let working = tokio::spawn(work(writer));
    store.execute_deferred(open("deferred")).await.unwrap().unwrap();
    store.close();
    working.await.unwrap();
    assert_eq!(after_a_cut(&disk), ["deferred"]);
}
