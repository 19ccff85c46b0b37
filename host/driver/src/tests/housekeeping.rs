//! Housekeeping as time goes by: what is forgotten in one sweep, and when the ledger is marked.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gatehouse_harness::{TestClock, until};
use gatehouse_model::{Clock as _, Credits, CustomerId, Task, UnixMs};
use gatehouse_sample::{START, request_id, task};
use gatehouse_store::AuditQuery;
use gatehouse_tasks::{Command, ResponseLimits, ResponseRecord};
use serde_json::json;

use crate::Config;
use crate::tests::support::{Process, customer};

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(60);

/// The next sweep, to its end.
async fn sweep(clock: &TestClock) {
    clock.armed(INTERVAL).await;
    clock.advance(INTERVAL);
    clock.armed(INTERVAL).await;
}

fn kept(number: usize) -> Command {
    let record = ResponseRecord {
        customer: CustomerId::from("acme"),
        id: format!("resp_{number}"),
        previous: None,
        kept: START,
        expires: START.plus(Duration::from_secs(1)),
        items: vec![],
        input: vec![],
        response: vec![],
        outline: vec![],
    };
    let limits = ResponseLimits { count: u64::MAX, bytes: u64::MAX };
    Command::KeepResponse { record: Box::new(record), limits }
}

/// Where a sweep forgot one batch only, a gateway with more of a kind in a minute would keep the rest for ever.
#[tokio::test]
async fn a_sweep_forgets_more_rows_than_it_reads_at_once() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = TestClock::at(START.0);
    let process = Process::start(data.path(), json!({}), Config::default(), clock.clone()).await;
    let store = &process.store;
    customer(store, START).await;
    let keep = (0..2_300).map(|number| store.execute(kept(number)));
    stream::iter(keep).buffered(500).for_each(async |kept| drop(kept.expect("a store").expect("kept"))).await;
    sweep(&clock).await;
    assert_eq!(store.expired(clock.now(), 9).await, Ok(vec![]));
}

/// A key would be refused for an hour as if the requests went on that a crash cut off, or that another gateway had, and its customer's
/// money would be held as long.
#[tokio::test]
async fn what_requests_of_the_process_before_held_is_free_at_a_start_and_what_tasks_hold_stays() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = TestClock::at(START.0);
    let start = async || Process::start(data.path(), json!({}), Config::default(), clock.clone()).await;
    let process = start().await;
    let key = customer(&process.store, START).await;
    let held = |number| Command::Hold {
        id: request_id(number),
        key: key.id.clone(),
        model: "text".to_owned(),
        amount: Credits(7),
        expires: START.plus(Duration::from_secs(3_600)),
        at: START,
    };
    let owned = Task { key: key.id.clone(), customer: key.customer.clone(), ..task(1, 0, 0, 10, START) };
    let submitted = Command::Submit { task: Box::new(owned), idempotency: None };
    process.execute([held(1), held(2), submitted]).await;
    let before = process.store.customer(&key.customer).await.expect("readable").expect("known");
    assert_eq!(
        (before.reserved, process.store.open_requests().await.map(|open| open.len())),
        (Credits(24), Ok(2))
    );
    process.driver.process.stop(Duration::ZERO, Duration::ZERO).await;
    let Process { store, .. } = process;
    tokio::task::spawn_blocking(move || store.close()).await.expect("closed");

    let store = start().await.store;
    store.flush().await.expect("a store");
    let after = store.customer(&key.customer).await.expect("readable").expect("known");
    assert_eq!((after.reserved, after.spent), (Credits(10), Credits::ZERO));
    let row = store.key(&key.id).await.expect("readable").expect("known");
    assert_eq!((row.open_requests(), store.open_requests().await), (1, Ok(vec![])));
    assert!(store.examine().expect("readable").is_clean());
}

/// Without marks an older end of a chain, put back with its balances, passes for the present one.
#[tokio::test]
async fn the_ledger_is_marked_within_a_minute_and_then_hourly_where_it_has_grown() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = TestClock::at(START.0);
    let process = Process::start(data.path(), json!({}), Config::default(), clock.clone()).await;
    let store = &process.store;
    let customer = customer(store, START).await.customer.clone();
    let marks = async || {
        let page = store.list_audit(AuditQuery::default(), None, 99).await.expect("readable");
        let marks = page.rows.into_iter().filter_map(|(_, row)| Some((row.at, row.mark?.entries)));
        marks.rev().collect::<Vec<(UnixMs, u64)>>()
    };
    let after = |minutes: u64| START.plus(INTERVAL * u32::try_from(minutes).expect("few"));
    sweep(&clock).await;
    until("the first mark", async || marks().await == [(after(1), 1)]).await;
    let (amount, memo, at) = (Credits(1), String::new(), START);
    process.execute([Command::Deposit { customer, amount, memo, at }]).await;
    // The third hour finds nothing new.
    for _ in 1..=120 {
        sweep(&clock).await;
    }
    until("the second mark", async || marks().await.len() > 1).await;
    assert_eq!(marks().await, [(after(1), 1), (after(61), 2)]);
}
