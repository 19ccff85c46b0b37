//! Which account a task's calls go through, and the call that stops its provider when its time is over.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use gatehouse_harness::{Received, Reply, reply, until};
use gatehouse_model::{FailureKind, Phase, Status, Task};
use gatehouse_upstream::affinity;
use serde_json::json;

use crate::tests::support::PuppetTest;

const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

fn is_waiting(task: Option<&Task>) -> bool {
    task.is_some_and(|task| matches!(task.phase, Phase::Wait(_)))
}

fn answer(_: &Received) -> Reply {
    reply(200, &[], "fine")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_through_another_account_leaves_the_task_at_its_own() {
    let test = PuppetTest::with(answer, &["main", "other"]).await;
    let elsewhere = affinity("trap", "other");
    for replay in ["safe", "token"] {
        let borrowed = json!({"path": "/elsewhere", "affinity": elsewhere, "replay": replay});
        let task = test.run(&json!([{"call": {"path": "/own"}}, {"call": borrowed}])).await;
        let task = test.end_of(task).await;
        assert_eq!(task.status, Status::Completed, "{:?}", task.failure);
        assert_eq!(task.assignment.expect("an account").account, "main", "{replay}");
    }
    assert_eq!((test.calls("/own"), test.calls("/elsewhere")), (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_call_with_an_affinity_takes_the_task_to_that_account() {
    let test = PuppetTest::with(answer, &["main", "other"]).await;
    let call = json!({"path": "/first", "affinity": affinity("trap", "other")});
    let task = test.run(&json!([{"call": call}, {"call": {"path": "/second"}}])).await;
    let task = test.end_of(task).await;
    assert_eq!(task.assignment.expect("an account").account, "other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clients_hear_of_the_end_before_the_provider_answers_its_stop() {
    let (end, ended) = mpsc::channel();
    let ended = Mutex::new(ended);
    let answer = move |request: &Received| {
        if request.path() == "/stop" {
            let end = || ended.lock().expect("a lock").recv().expect("the end of the task");
            tokio::task::block_in_place(end);
        }
        reply(200, &[], "fine")
    };
    let test = PuppetTest::with(answer, &["main"]).await;
    let steps = json!([{"call": {"path": "/own"}}, {"wait": 3_600_000}, {"call": {"path": "/stop"}}]);
    let task = test.run(&steps).await;
    let waits = || test.process.store.task(task).is_ok_and(|found| is_waiting(found.as_ref()));
    until("the task waits", async || waits()).await;
    test.clock.advance(TIME_LIMIT);
    let task = test.end_of(task).await;
    assert_eq!(task.failure.expect("a failure").kind, FailureKind::Timeout);
    end.send(()).expect("a provider");
    until("the provider is told to stop", async || test.calls("/stop") == 1).await;
}
