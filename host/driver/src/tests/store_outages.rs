//! A store whose engine is away for a while, under load: no task is forgotten, nothing is sent twice, and the money adds up.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use gatehouse_harness::{until, until_some};
use gatehouse_model::{Credits, Status, TaskId};
use serde_json::json;

use crate::tests::support::{PuppetTest, fine};
use crate::{StoreError, SubmitError};

const TASKS: usize = 24;
/// Of so many accesses of the engine the last ones fail. A quiet machine makes few of them, since its batches are full.
const ACCESSES: usize = 20;
const FAILING: usize = 3;
/// Faults that the tasks meet, at least.
const FAULTS: usize = 3;

/// A task whose one call may not be repeated, for a client that repeats what is refused for a moment.
async fn run(test: &PuppetTest, number: usize) -> TaskId {
    let steps = json!([
        {"call": {"path": format!("/once/{number}/"), "replay": "once"}},
        {"call": {"path": "/poll", "replay": "safe"}},
    ]);
    loop {
        match test.try_run(&test.key, &steps).await {
            Ok(task) => return task,
            Err(SubmitError::Store(StoreError::Unavailable)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_is_away_under_load_loses_nothing() {
    let test = PuppetTest::with(fine, &["main"]).await;
    let accesses = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&accesses);
    test.process
        .store
        .ask_engine(move |_| asked.fetch_add(1, Ordering::SeqCst) % ACCESSES < ACCESSES - FAILING);

    let tasks = join_all((0..TASKS).map(|number| run(&test, number))).await;
    let is_over = async |task: &TaskId| {
        let task = test.process.driver.tasks.task(&test.key, *task).await;
        task.is_ok_and(|task| task.is_some_and(|task| task.status == Status::Completed))
    };
    let going_on = Cell::new(tasks);
    until("every task has ended", async || {
        // Those that rest are due again.
        test.clock.advance(Duration::from_secs(2));
        let tasks = going_on.take();
        let over = join_all(tasks.iter().map(is_over)).await;
        let rest: Vec<_> = tasks.into_iter().zip(over).filter(|(_, over)| !over).map(|(id, _)| id).collect();
        let all_over = rest.is_empty();
        going_on.set(rest);
        all_over
    })
    .await;
    let accesses = accesses.load(Ordering::SeqCst);
    assert!(accesses > FAULTS * ACCESSES, "{accesses}");
    for number in 0..TASKS {
        assert_eq!(test.calls(&format!("/once/{number}/")), 1);
    }
    let store = &test.process.store;
    let examined = async || store.examine().ok().zip(store.customer(&test.key.customer).await.ok().flatten());
    let (report, customer) = until_some("the store is there", examined).await;
    assert!(report.is_clean() && report.holds == 0, "{report:?}");
    assert_eq!((customer.reserved, customer.spent), (Credits::ZERO, Credits(10_000 * TASKS as i64)));
}
