//! The first step of a task, taken with its submission: what is durable with the receipt, and what becomes of it where the
//! call may not leave.

use std::sync::Arc;

use crate::SubmitError;
use gatehouse_harness::{TestSeed, until};
use gatehouse_model::{ApiKey, Credits, Event, Key, KeyPolicy, Pepper, Phase, Status};
use gatehouse_tasks::Command;
use serde_json::{Value, json};

use crate::tests::support::{PuppetTest, gate};

fn call(path: &str, replay: &str) -> Value {
    json!([{"call": {"path": path, "replay": replay}}])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_receipt_means_that_the_first_attempt_is_durable_too() {
    let (go, answer) = gate();
    let test = PuppetTest::with(answer, &["main"]).await;
    for replay in ["once", "token"] {
        let id = test.run(&call("/first", replay)).await;
        let submitted = test.stored(id);
        assert!(matches!(submitted.phase, Phase::Sent { .. }), "{replay}: {:?}", submitted.phase);
        assert_eq!((submitted.revision, submitted.brief.len()), (0, 0), "one commit");
        assert_eq!(submitted.assignment.expect("an account").account, "main");
        go.send(()).expect("a provider");
        assert_eq!(test.end_of(id).await.status, Status::Completed);
    }
    assert_eq!(test.calls("/first"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_first_call_that_may_be_repeated_leaves_no_attempt() {
    let (go, answer) = gate();
    let test = PuppetTest::with(answer, &["main"]).await;
    let id = test.run(&call("/first", "safe")).await;
    assert!(matches!(test.stored(id).phase, Phase::Run(Event::Start(_))));
    go.send(()).expect("a provider");
    assert_eq!(test.end_of(id).await.status, Status::Completed);
    assert_eq!(test.calls("/first"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_without_a_permit_waits_for_one_with_its_call() {
    let (go, answer) = gate();
    let test = PuppetTest::with_limit(answer, &["main"], 1).await;
    let first = test.run(&call("/first", "once")).await;
    let second = test.run(&call("/second", "once")).await;
    let queued = || matches!(test.stored(second).phase, Phase::Call(_));
    until("the second waits for a permit", async || queued()).await;
    assert_eq!((test.stored(second).assignment, test.calls("/second")), (None, 0));
    for (id, path) in [(first, "/first"), (second, "/second")] {
        go.send(()).expect("a provider");
        assert_eq!(test.end_of(id).await.status, Status::Completed);
        assert_eq!(test.calls(path), 1);
    }
}

/// A key that may spend nothing.
async fn key_without_quota(test: &PuppetTest) -> Arc<Key> {
    let secret = ApiKey::mint(&TestSeed::counting_from(99));
    let policy = KeyPolicy { quota: Some(Credits::ZERO), ..KeyPolicy::default() };
    let digest = secret.digest(&Pepper::new([7; 32]));
    let key = Key::new(secret.id(), test.key.customer.clone(), digest, test.key.created, policy);
    test.process.execute([Command::AddKey { key: Box::new(key.clone()) }]).await;
    Arc::new(key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_that_is_not_accepted_gives_its_permit_back_and_nothing_leaves() {
    let (go, answer) = gate();
    let test = PuppetTest::with_limit(answer, &["main"], 1).await;
    let poor = key_without_quota(&test).await;
    for _ in 0..3 {
        let refused = test.try_run(&poor, &call("/refused", "once")).await;
        assert!(matches!(refused, Err(SubmitError::QuotaExceeded(_))), "{refused:?}");
    }
    let id = test.run(&call("/first", "once")).await;
    assert!(matches!(test.stored(id).phase, Phase::Sent { .. }), "the one permit is free");
    go.send(()).expect("a provider");
    assert_eq!(test.end_of(id).await.status, Status::Completed);
    assert_eq!(test.calls("/refused"), 0);
}
