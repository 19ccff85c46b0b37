//! Which account a task's calls go through, what becomes of a call that one refuses, and the call that stops a task's provider
//! when its time is over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_harness::{Received, Reply, reply, until};
use gatehouse_model::{Credits, FailureKind, Phase, Status};
use gatehouse_upstream::affinity;
use serde_json::json;

use crate::tests::support::{PuppetTest, fine, gate};

const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_through_another_account_leaves_the_task_at_its_own() {
    let test = PuppetTest::with(fine, &["main", "other"]).await;
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
    let test = PuppetTest::with(fine, &["main", "other"]).await;
    let call = json!({"path": "/first", "affinity": affinity("trap", "other")});
    let task = test.run(&json!([{"call": call}, {"call": {"path": "/second"}}])).await;
    let task = test.end_of(task).await;
    assert_eq!(task.assignment.expect("an account").account, "other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clients_hear_of_the_end_before_the_provider_answers_its_stop() {
    let (end, stop) = gate();
    let answer =
        move |request: &Received| if request.path() == "/stop" { stop(request) } else { fine(request) };
    let test = PuppetTest::with(answer, &["main"]).await;
    let steps = json!([{"call": {"path": "/own"}}, {"wait": 3_600_000}, {"call": {"path": "/stop"}}]);
    let task = test.run(&steps).await;
    test.until_waits(task).await;
    test.clock.advance(TIME_LIMIT);
    let task = test.end_of(task).await;
    assert_eq!(task.failure.expect("a failure").kind, FailureKind::Timeout);
    end.send(()).expect("a provider");
    until("the provider is told to stop", async || test.calls("/stop") == 1).await;
}

/// What a family says of a reply that is not "fine": its account is refused.
fn refusal() -> serde_json::Value {
    json!({"fail": "no upstream", "blame": "account", "unless": "fine"})
}

/// Refuses the first `refused` calls, and takes those after them.
fn refuse_first(refused: usize) -> impl Fn(&Received) -> Reply + Send + Sync + 'static {
    let calls = AtomicUsize::new(0);
    move |request| match calls.fetch_add(1, Ordering::Relaxed) {
        earlier if earlier < refused => reply(400, &[], "overdue"),
        _ => fine(request),
    }
}

/// Without it a task would fail, or wait for its deadline, while another account could do its job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_account_refuses_is_asked_of_the_next_at_once() {
    for (replay, stage) in [("once", "submitted"), ("once", "pending"), ("token", "processing")] {
        let test = PuppetTest::with(refuse_first(2), &["main", "other", "third"]).await;
        let steps = json!([{"call": {"path": "/make", "replay": replay}, "stage": stage}, refusal()]);
        let first = test.run(&steps).await;
        let task = test.end_of(first).await;
        assert_eq!(task.status, Status::Completed, "{:?}", task.failure);
        assert_eq!(task.assignment.expect("an account").account, "third", "{replay}");
        assert_eq!(test.calls("/make"), 3);
        // The two are passed over for a while.
        let second = test.run(&steps).await;
        let task = test.end_of(second).await;
        assert_eq!(task.assignment.expect("an account").account, "third", "{replay}");
        assert_eq!(test.calls("/make"), 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_fails_at_once_where_no_account_is_left() {
    for accounts in [&["main"][..], &["main", "other", "third"]] {
        let test = PuppetTest::with(|_| reply(400, &[], "overdue"), accounts).await;
        let task = test.run(&json!([{"call": {"path": "/make"}}, refusal()])).await;
        let task = test.end_of(task).await;
        let failure = task.failure.expect("a failure");
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Upstream, "no upstream"));
        assert_eq!((task.cost, test.calls("/make")), (Some(Credits::ZERO), accounts.len()));
    }
}

/// Without it a provider would be told to stop a job that another one of its accounts has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stops_a_job_is_not_asked_of_another_account() {
    let answer = |request: &Received| match request.path() {
        "/stop" => reply(400, &[], "overdue"),
        _ => fine(request),
    };
    let test = PuppetTest::with(answer, &["main", "other"]).await;
    let stop = json!({"call": {"path": "/stop"}});
    let steps = json!([{"call": {"path": "/own"}}, {"wait": 3_600_000}, stop, refusal()]);
    let task = test.run(&steps).await;
    test.until_waits(task).await;
    let asked =
        test.process.driver.cancels.cancel(&test.key, task).await.expect("its family has a call for it");
    assert_eq!(asked.into_task().id, task);
    let ended = test.end_of(task).await;
    assert_eq!((ended.status, test.calls("/stop")), (Status::Failed, 1), "{:?}", ended.failure);
}

/// Without it a job would be asked for where it does not exist, or a name used where it is unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_belongs_to_an_account_is_not_made_at_another() {
    for call in [
        json!({"path": "/poll", "replay": "safe"}),
        json!({"path": "/poll", "affinity": affinity("trap", "main")}),
    ] {
        let test = PuppetTest::with(refuse_first(1), &["main", "other"]).await;
        let task = test.run(&json!([{"call": call}, refusal()])).await;
        let task = test.end_of(task).await;
        assert_eq!((task.status, test.calls("/poll")), (Status::Failed, 1), "{call}");
        // Its account is passed over all the same.
        let next = test.run(&json!([{"call": {"path": "/make"}}, refusal()])).await;
        assert_eq!(test.end_of(next).await.assignment.expect("an account").account, "other", "{call}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refused_task_waits_for_the_next_account_where_that_is_full() {
    let ((go, hold), refuse) = (gate(), refuse_first(1));
    let answer =
        move |request: &Received| if request.path() == "/hold" { hold(request) } else { refuse(request) };
    let test = PuppetTest::with_limit(answer, &["main", "other"], 1).await;
    let held = test.run(&json!([{"call": {"path": "/hold", "affinity": affinity("trap", "other")}}])).await;
    let refused = test.run(&json!([{"call": {"path": "/make"}}, refusal()])).await;
    let is_queued = async || matches!(test.stored(refused).phase, Phase::Call(_));
    until("it waits for the other account", is_queued).await;
    assert_eq!(test.calls("/make"), 1);
    go.send(()).expect("a provider");
    assert_eq!(test.end_of(held).await.status, Status::Completed);
    let task = test.end_of(refused).await;
    assert_eq!((task.status, test.calls("/make")), (Status::Completed, 2));
    assert_eq!(task.assignment.expect("an account").account, "other");
}

/// Without it one client's forbidden content would keep everybody from the account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_403_is_the_accounts_only_where_the_family_says_so() {
    let test = PuppetTest::with(|_| reply(403, &[], "against the rules"), &["main", "other"]).await;
    for calls in 1..3 {
        let task = test.run(&json!([{"call": {"path": "/make"}}, {"fail": "moderated"}])).await;
        let task = test.end_of(task).await;
        assert_eq!((task.status, test.calls("/make")), (Status::Failed, calls));
        assert_eq!(task.assignment.expect("an account").account, "main");
    }
}
