//! Housekeeping as time goes by: what is forgotten in one sweep, and when the ledger is marked.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gatehouse_harness::{TestClock, until};
use gatehouse_model::{Clock as _, Credits, CustomerId, UnixMs};
use gatehouse_sample::START;
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
    let deposit = Command::Deposit { customer, amount, memo, at };
    store.execute(deposit).await.expect("a store").expect("allowed");
    // The third hour finds nothing new.
    for _ in 1..=120 {
        sweep(&clock).await;
    }
    until("the second mark", async || marks().await.len() > 1).await;
    assert_eq!(marks().await, [(after(1), 1), (after(61), 2)]);
}
