//! Cancels of one task at the same time: one ends it, and the others are told that it has ended.

use std::path::Path;

use crate::{CancelError, Cancelled, Config};
use gatehouse_harness::TestClock;
use gatehouse_model::{AccountAssignment, Credits, FailureKind, Phase, Status, TaskId, UnixMs};
use gatehouse_sample::{START, beginning, key, sent_call, task, task_id};
use gatehouse_store::AuditQuery;
use gatehouse_tasks::{Change, Command, MemoryLedgerStorage};
use serde_json::json;

use crate::tests::support::Process;

/// A process with a task that is submitted and not run.
async fn submitted(data: &Path) -> Process {
    let clock = TestClock::at(START.0);
    let process = Process::start(data, json!({}), Config::default(), clock).await;
    let commands = beginning().into_iter().map(|one| one.command(&MemoryLedgerStorage::default(), START));
    let submit = Command::Submit { task: Box::new(task(1, 0, 0, 10, START)), idempotency: None };
    process.execute(commands.chain([submit])).await;
    process
}

/// A task at its provider: in this phase, and asked to stop or not.
async fn at_its_provider(process: &Process, phase: Phase, stop_asked: bool) {
    let assignment = AccountAssignment { provider: "p".to_owned(), account: "main".to_owned() };
    let change = Box::new(Change {
        status: Status::Pending,
        progress: 0,
        phase,
        state: None,
        digest: None,
        assignment: Some(assignment),
        blobs: None,
        view: None,
        deliver: false,
        stop_asked,
        sent_again: false,
        audit: None,
    });
    process.execute([Command::Advance { id: task_id(1), revision: 0, change, at: START }]).await;
}

async fn audit_of(process: &Process, id: TaskId) -> String {
    let about = AuditQuery { task: Some(id), ..AuditQuery::default() };
    let lines = process.store.list_audit(about, None, 10).await;
    format!("{:?}", lines.expect("readable").rows)
}

/// Without it nobody could tell that an operator has cancelled the task as well. The task itself stays as it is: a reply in hand
/// would be lost.
#[tokio::test]
async fn an_operators_cancel_after_a_clients_is_on_record() {
    let data = tempfile::tempdir().expect("a folder");
    let process = submitted(data.path()).await;
    at_its_provider(&process, Phase::Sent { call: sent_call(), at: START }, true).await;
    let (driver, key) = (&process.driver, key(0, 0, None));
    assert!(matches!(driver.cancels.cancel(&key, task_id(1)).await, Ok(Cancelled::Asked(_))));
    assert!(!audit_of(&process, task_id(1)).await.contains("cancelled"));
    let asked =
        driver.cancels.cancel_for_operator(task_id(1), "a complaint").await.expect("it is asked already");
    assert_eq!(asked.into_task().revision, 1, "the step under way goes on");
    let text = audit_of(&process, task_id(1)).await;
    assert!(text.contains("cancelled by an operator: a complaint"), "{text}");
}

/// A provider that says "pending" for ever would hold a customer's money until the deadline.
#[tokio::test]
async fn a_task_at_its_provider_is_given_up_and_refunded() {
    let data = tempfile::tempdir().expect("a folder");
    let process = submitted(data.path()).await;
    let id = task_id(1);
    at_its_provider(&process, Phase::Wait(UnixMs(START.0 + 60_000)), false).await;
    let (driver, key) = (&process.driver, key(0, 0, None));
    assert!(matches!(driver.cancels.cancel(&key, id).await, Err(CancelError::Running)));
    assert!(matches!(driver.cancels.cancel_for_operator(id, "stuck").await, Err(CancelError::Running)));
    let Cancelled::Ended(ended) = driver.cancels.give_up(id, "stuck").await.expect("it ends") else {
        panic!("asked")
    };
    let failure = ended.failure.expect("a reason");
    assert_eq!((ended.status, failure.kind), (Status::Failed, FailureKind::Upstream));
    assert!(failure.message.contains("nothing was charged"), "{}", failure.message);
    let customer = process.store.customer(&key.customer).await.expect("readable").expect("a customer");
    assert_eq!((customer.reserved, customer.spent), (Credits(0), Credits(0)));
    let text = audit_of(&process, id).await;
    let expected = "given up by an operator: stuck; account main of p may finish and bill what was sent";
    assert!(text.contains(expected), "{text}");
    assert!(matches!(driver.cancels.give_up(id, "again").await, Err(CancelError::Over(Status::Failed))));
    assert!(process.store.examine().expect("readable").is_clean());
}

#[tokio::test]
async fn of_two_cancels_at_once_the_second_is_told_that_the_task_has_ended() {
    let data = tempfile::tempdir().expect("a folder");
    let process = submitted(data.path()).await;
    // Both read the live task before either has ended it: a cancel first waits for the store's commit.
    let (driver, key) = (&process.driver, key(0, 0, None));
    let outcomes =
        tokio::join!(driver.cancels.cancel(&key, task_id(1)), driver.cancels.cancel(&key, task_id(1)));
    let (Ok(Cancelled::Ended(ended)), Err(CancelError::Over(status))) = &outcomes else {
        panic!("{outcomes:?}")
    };
    assert_eq!((ended.status, *status), (Status::Failed, Status::Failed));
    assert!(process.store.examine().expect("readable").is_clean());
}
