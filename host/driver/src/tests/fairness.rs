//! One customer's work is nobody else's wait: permits of a provider between customers, streams that nobody reads, and
//! tasks that could not begin in time.

use std::sync::Arc;
use std::time::Duration;

use crate::{CompletionResponse, SubmitError, TextError};
use gatehouse_harness::until;
use gatehouse_model::{Clock as _, Credits, Key, Status, UnixMs};
use serde_json::{Value, json};

use crate::tests::support::{PuppetTest, customer_named, gate};
use crate::tests::text_timeouts::{DRAIN, PERMIT_WAIT, TextTest, stream};

fn one_permit() -> Value {
    json!({"first": {"secret": {"env": "KEY"}, "concurrency": 1}})
}

impl TextTest {
    async fn another_customer(&self) -> Arc<Key> {
        customer_named(&self.process.store, "other", 4, self.clock.now()).await
    }
}

/// The provider still writes to a stream that nobody reads: it is read on for the bill, and its permit is another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_stream_gives_its_permit_to_another_customer_and_is_paid_for() {
    let test = TextTest::start_with(one_permit()).await;
    let other = test.another_customer().await;
    let abandoned = stream(test.send_as(&test.key, "[[stall:2]] one two three four", true)).await;
    test.until_held(1).await;
    let waits = test.send_as(&other, "hello", false);
    drop(abandoned);
    // The clock holds the drain, so only the wait can have ended it.
    test.clock.armed(DRAIN).await;
    assert!(matches!(waits.await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
    assert_eq!(test.clock.pauses(DRAIN), 1, "it is still read");
    test.sandbox.release();
    assert!(test.spent().await > Credits::ZERO, "by the provider's count");
    assert!(test.ledger_is_clean());
}

/// A text waits for a permit that is about to be free, instead of being refused at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_waits_for_a_permit() {
    let test = TextTest::start_with(one_permit()).await;
    let other = test.another_customer().await;
    let first = test.send_as(&test.key, "[[slow-start]] hello", false);
    test.until_held(1).await;
    let second = test.send_as(&other, "hello", false);
    test.clock.armed(PERMIT_WAIT).await;
    test.sandbox.release();
    assert!(matches!(first.await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
    assert!(matches!(second.await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_waited_long_enough_is_refused() {
    let test = TextTest::start_with(one_permit()).await;
    let first = test.send_as(&test.key, "[[slow-start]] hello", false);
    test.until_held(1).await;
    let second = test.send_as(&test.key, "hello", false);
    test.clock.end_pauses(PERMIT_WAIT).await;
    let refused = second.await.expect("no panic");
    assert!(matches!(refused, Err(TextError::Unavailable { .. })), "{refused:?}");
    test.sandbox.release();
    assert!(first.await.expect("no panic").is_ok());
}

/// A single 429 is a pause, not an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_429_is_waited_out() {
    let test = TextTest::start_with(one_permit()).await;
    let answer = test.send_as(&test.key, "[[429-bare:1]] hello", false).await.expect("no panic");
    assert!(matches!(answer, Ok(CompletionResponse::Whole(_))), "{answer:?}");
    assert_eq!(test.sandbox.messages_record().count, 2);
}

fn one_call(path: &str) -> Value {
    json!([{"call": {"path": path, "replay": "token"}}])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_does_not_wait_behind_another_customers_hundred() {
    let (go, script) = gate();
    let test = PuppetTest::with_limit(script, &["main"], 1).await;
    let other = customer_named(&test.process.store, "other", 4, UnixMs(1_767_225_600_000)).await;
    for _ in 0..100 {
        test.try_run(&test.key, &one_call("/crowd")).await.expect("a receipt");
    }
    until("the first is under way", async || test.calls("/crowd") == 1).await;
    let task = test.try_run(&other, &one_call("/other")).await.expect("a receipt");
    // It stands in the queue before the first of the crowd ends.
    until("it waits", async || test.stored(task).status == Status::Pending).await;
    for _ in 0..2 {
        go.send(()).expect("a provider");
    }
    until("it ends", async || test.stored(task).status == Status::Completed).await;
    assert!(test.calls("/crowd") <= 3, "after one or two of the crowd: {}", test.calls("/crowd"));
    drop(go);
}

/// At one permit a minute, a customer whose own tasks already take longer than a task may is told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_that_cannot_begin_in_time_is_refused_and_others_are_not() {
    let (go, script) = gate();
    let test = PuppetTest::with_limit(script, &["main"], 1).await;
    let other = customer_named(&test.process.store, "other", 4, UnixMs(1_767_225_600_000)).await;
    let submit = async || test.try_run(&test.key, &one_call("/crowd")).await;
    let mut receipts = Vec::new();
    for _ in 0..60 {
        receipts.push(submit().await.expect("a receipt"));
    }
    for ended in 1..=12 {
        until("the next is under way", async || test.calls("/crowd") == ended).await;
        test.clock.advance(Duration::from_secs(60));
        go.send(()).expect("a provider");
    }
    until("the next is under way", async || test.calls("/crowd") == 13).await;
    // Those that wait learn the same: the next one after a minute, the last after all before it.
    let mut waiting = Vec::new();
    for task in &receipts {
        let found = test.process.driver.tasks.queue_estimate(&test.stored(*task));
        waiting.extend(found.map(|found| (found.position, found.wait.map(|wait| wait.as_secs() / 60))));
    }
    waiting.sort_unstable();
    assert_eq!(
        waiting.iter().map(|(position, _)| *position).collect::<Vec<_>>(),
        (1..=47).collect::<Vec<_>>()
    );
    for (position, minutes) in &waiting {
        let (minutes, position) = (minutes.expect("a pace"), u64::try_from(*position).expect("small"));
        assert!((position - 1..=position + position / 8 + 1).contains(&minutes), "{position}: {minutes} min");
    }
    // A minute each, and 30 minutes for a task: with 47 before it, it could not even begin.
    let refused = submit().await;
    let Err(SubmitError::TooLate { wait, limit }) = refused else { panic!("{refused:?}") };
    assert!(wait > limit && wait < 2 * limit, "{wait:?}");
    test.try_run(&other, &one_call("/other")).await.expect("a receipt");
    drop(go);
}

/// A task that may not call while the media store is away would keep what the tasks behind it wait for.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_that_may_bring_no_files_gives_its_turn_to_the_next() {
    let (go, script) = gate();
    let test = PuppetTest::with_limit(script, &["main"], 1).await;
    let submit = async |steps: Value| test.try_run(&test.key, &steps).await.expect("a receipt");
    let is = |task, status| test.stored(task).status == status;
    submit(one_call("/first")).await;
    until("the first is under way", async || test.calls("/first") == 1).await;
    let files = submit(json!([{"call": {"path": "/files", "replay": "token", "cut-body": true}}])).await;
    until("it waits", async || is(files, Status::Pending)).await;
    let next = submit(one_call("/next")).await;
    until("the next waits too", async || is(next, Status::Pending)).await;
    let away = test.process.driver.rulings.calls.files.waiting.enter(u64::MAX);
    for _ in 0..2 {
        go.send(()).expect("a provider");
    }
    until("the next ends", async || is(next, Status::Completed)).await;
    assert_eq!(test.calls("/files"), 0, "its files could not be kept");
    drop((away, go));
}
