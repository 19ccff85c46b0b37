//! A version on trial that faults: which tasks wait for another version, what their waiting costs the version, and what is not
//! forgotten meanwhile.

use std::time::Duration;

use gatehouse_harness::{Received, Reply, puppet_claiming, reply, until};
use gatehouse_model::{Clock as _, Event, FailureKind, Phase, Status};
use gatehouse_runtime::{CanaryConfig, Config, VersionState};
use serde_json::{Value, json};

use crate::tests::support::{PuppetTest, fine};

/// More tries than the faults that have a canary rolled back.
const TRIES: usize = 8;
/// The longest pause between two tries of a task.
const PAUSE: Duration = Duration::from_secs(60);

/// A driver that watches fresh versions for so long that no test sees the end.
async fn watching(answer: fn(&Received) -> Reply, accounts: &[&str]) -> PuppetTest {
    let test = PuppetTest::with(answer, accounts).await;
    let canary = CanaryConfig { window_s: 24 * 3600, ..CanaryConfig::default() };
    test.process.plugins.configure(Config { canary, ..(*test.process.plugins.config()).clone() });
    test
}

fn install(test: &PuppetTest, version: &str, claims: Value) {
    let mut all = json!({"version": version, "state_version": 2, "reads_state": [1]});
    all.as_object_mut().expect("an object").extend(claims.as_object().expect("an object").clone());
    test.process.plugins.install(&puppet_claiming(&all)).expect("the version");
}

/// Returns once no step of the only task runs, and it is due later than now.
async fn rests(test: &PuppetTest) {
    let live = &test.process.driver.live;
    until("the task waits", async || live.next_due().is_some_and(|due| due > test.clock.now())).await;
}

/// Without it a task that no version can take would be tried until its deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_on_which_both_versions_fault_fails() {
    let test = watching(fine, &["main"]).await;
    install(&test, "1.1.0", json!({"state_version": 1, "reads_state": []}));
    let task = test.run(&json!([{"call": {"path": "/own"}}, {"panic-with": "whatever the version"}])).await;
    let ended = test.end_of(task).await;
    let failure = ended.failure.expect("a reason");
    assert_eq!((ended.status, failure.kind), (Status::Failed, FailureKind::Internal));
    let states = test.process.plugins.list();
    let is_serving = |state: &VersionState| matches!(state, VersionState::Active(_));
    assert!(states.iter().any(|one| is_serving(&one.state)), "{states:?}");
}

/// Without it one task that waits would count as many faults as it has tries, and one client could have any version rolled back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_waits_for_another_version_does_not_have_the_canary_rolled_back() {
    let test = watching(fine, &["main"]).await;
    install(&test, "2.0.0", json!({"flaw": "panics later"}));
    let task = test.run(&json!([{"call": {"path": "/own"}}, {"call": {"path": "/more"}}])).await;
    for _ in 0..TRIES {
        rests(&test).await;
        test.clock.advance(PAUSE);
    }
    rests(&test).await;
    let states = test.process.plugins.list();
    let rolled_back = states.iter().find(|one| matches!(one.state, VersionState::RolledBack { .. }));
    assert!(rolled_back.is_none(), "{rolled_back:?}");
    install(&test, "2.0.1", json!({}));
    test.clock.advance(PAUSE);
    let ended = test.end_of(task).await;
    assert_eq!((ended.status, test.calls("/own"), test.calls("/more")), (Status::Completed, 1, 1));
}

/// Without it a task whose account was refused would fail where its plugin had to wait, and be done by another where not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_account_is_remembered_while_the_step_waits() {
    let test = watching(|_| reply(400, &[], "overdue"), &["main", "other"]).await;
    install(&test, "2.0.0", json!({"flaw": "panics later"}));
    let refusal = json!({"fail": "no upstream", "blame": "account", "unless": "fine"});
    let task = test.run(&json!([{"call": {"path": "/make"}}, refusal])).await;
    let is_answered = async || matches!(test.stored(task).phase, Phase::Run(Event::Reply(_)));
    until("its reply is on record", is_answered).await;
    rests(&test).await;
    install(&test, "2.0.1", json!({}));
    test.clock.advance(PAUSE);
    let ended = test.end_of(task).await;
    assert_eq!((ended.status, test.calls("/make")), (Status::Failed, 2), "both accounts were asked");
}
