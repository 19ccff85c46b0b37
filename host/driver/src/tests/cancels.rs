//! Cancels of one task at the same time: one ends it, and the others are told that it has ended.

use crate::{CancelError, Config};
use gatehouse_harness::TestClock;
use gatehouse_model::Status;
use gatehouse_sample::{START, beginning, key, task, task_id};
use gatehouse_tasks::{Command, MemoryLedgerStorage};
use serde_json::json;

use crate::tests::support::Process;

#[tokio::test]
async fn of_two_cancels_at_once_the_second_is_told_that_the_task_has_ended() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = TestClock::at(START.0);
    let process = Process::start(data.path(), json!({}), Config::default(), clock).await;
    let commands = beginning().into_iter().map(|one| one.command(&MemoryLedgerStorage::default(), START));
    let submit = Command::Submit { task: Box::new(task(1, 0, 0, 10, START)), idempotency: None };
    for command in commands.chain([submit]) {
        process.store.execute(command).await.expect("a store").expect("allowed");
    }
    // Both read the live task before either has ended it: a cancel first waits for the store's commit.
    let (driver, key) = (&process.driver, key(0, 0, None));
    let outcomes = tokio::join!(driver.cancel(&key, task_id(1)), driver.cancel(&key, task_id(1)));
    let (Ok(ended), Err(CancelError::Over(status))) = &outcomes else { panic!("{outcomes:?}") };
    assert_eq!((ended.status, *status), (Status::Failed, Status::Failed));
    assert!(process.store.examine().expect("readable").is_clean());
}
