//! A wall clock that is set forward: what has run for a moment has run for a moment.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_harness::{TestClock, puppet_claiming};
use gatehouse_model::{Clock as _, Task};
use gatehouse_sample::{START, task};
use serde_json::json;

use crate::scheduler::housekeeping::Housekeeping;
use crate::tests::support::{Process, PuppetTest, fine, submission};
use crate::{Config, SubmitRequest};

const HOURS: Duration = Duration::from_secs(5 * 3600);

/// Without the steps of the clock in it, a task of ten minutes' age would be out of time.
#[tokio::test]
async fn a_step_of_the_clock_is_no_time_of_a_task() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = TestClock::at(START.0);
    let process = Process::start(data.path(), json!({}), Config::default(), clock.clone()).await;
    let state = &process.driver.shared;
    let limit = Duration::from_secs(1800);
    let young = Task { deadline: START.plus(limit), ..task(1, 0, 0, 10, START) };
    clock.advance(Duration::from_secs(600));
    clock.set_forward(HOURS);
    assert!(!state.is_overdue(&young), "twenty minutes are left");
    assert_eq!(state.deadline(&young), clock.now().plus(Duration::from_secs(1200)));
    let later = Task { deadline: clock.now().plus(limit), ..task(2, 0, 0, 10, clock.now()) };
    clock.advance(Duration::from_millis(1_200_000 - 1));
    assert!(!state.is_overdue(&young) && !state.is_overdue(&later));
    clock.advance_ms(1);
    assert!(state.is_overdue(&young) && !state.is_overdue(&later));
    clock.advance(Duration::from_secs(600));
    assert!(state.is_overdue(&later), "it began after the step");
}

/// A text that has just begun would lose its hold to the sweep, and could not be charged.
#[tokio::test]
async fn holds_are_not_swept_before_what_took_them_must_have_ended() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = TestClock::at(START.0);
    let process = Process::start(data.path(), json!({}), Config::default(), clock.clone()).await;
    let sweeps = Housekeeping { shared: Arc::clone(&process.driver.shared) };
    assert!(sweeps.holds_have_expired(clock.now()));
    clock.set_forward(HOURS);
    assert!(!sweeps.holds_have_expired(clock.now()));
    clock.advance(process.driver.shared.max_duration(true));
    assert!(sweeps.holds_have_expired(clock.now()));
}

/// The row of a task that was made before the step has the wall clock's deadline: the step would be given to it twice, and a
/// customer's money held for hours more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_joins_after_a_step_gives_its_task_one_time_limit() {
    let test = PuppetTest::with(fine, &["main"]).await;
    let schema = json!({"type": "object"});
    let joining = puppet_claiming(&json!({
        "version": "1.1.0",
        "models": [{"id": "puppet-1", "aliases": ["puppet"], "surfaces": ["images.generate", "videos.generate"]}],
        "surfaces": [
            {"name": "images.generate", "schema": schema},
            {"name": "videos.generate", "schema": schema, "parent": {"field": "joins"}, "joins": true},
        ],
    }));
    test.process.plugins.install(&joining).expect("the version");
    let task = test.run(&json!([{"wait": 3_600_000}, {"wait": 3_600_000}, {"wait": 3_600_000}])).await;
    test.until_waits(task).await;
    test.clock.set_forward(HOURS);
    let body = json!({"model": "puppet-1", "joins": task.to_string(), "script": {}});
    let request = SubmitRequest { surface: "videos.generate", ..submission(&test.key, &body) };
    let receipt = test.process.driver.intake.submit(request).await.expect("it joins");
    assert_eq!(receipt.task, task);
    let limit = Duration::from_secs(1800);
    assert_eq!(test.process.driver.shared.deadline(&test.stored(task)), test.clock.now().plus(limit));
}
