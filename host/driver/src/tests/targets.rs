//! A model with two targets under a clock of the test: silence, the time limit of all targets together, and the shares of
//! customers where both are full.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_harness::{TestClock, until};
use gatehouse_model::{Clock as _, Credits};
use serde_json::{Value, json};

use crate::tests::support::customer_named;
use crate::tests::text_timeouts::{PERMIT_WAIT, TextTest};
use crate::{CompletionResponse, TextError};

const PATIENCE: Duration = Duration::from_secs(55);
const TIME_LIMIT: Duration = Duration::from_secs(200);

/// Two targets of other protocols with one permit each; the second costs ten times as much.
async fn start(clock: Arc<TestClock>) -> TextTest {
    TextTest::start_of(clock, |sandbox| {
        let account = json!({"main": {"secret": {"env": "KEY"}, "concurrency": 1}});
        let providers = json!({
            "p": {"base_url": sandbox.messages().origin, "auth": {"header": "x-api-key"}, "accounts": account},
            "q": {"base_url": sandbox.chat().origin, "auth": "bearer", "accounts": account},
        });
        let target = |provider: &str, protocol: &str, upstream: &str, price: &str| {
            json!({"provider": provider, "protocol": protocol, "upstream": upstream,
                "first_byte_s": PATIENCE.as_secs(), "answer_s": PATIENCE.as_secs(), "prices": {"input": price, "output": price}})
        };
        let targets: Value = json!([
            target("p", "messages", "claude-sonnet-4-6", "1"),
            target("q", "chat", "gpt-sim", "10"),
        ]);
        (providers, json!({"targets": targets, "prices": {"input": "1", "output": "1"}}))
    })
    .await
}

impl TextTest {
    /// Returns once each provider holds up so many answers.
    async fn until_both_hold(&self, messages: usize, chat: usize) {
        until("answers are held up", async || {
            (self.sandbox.messages_record().held, self.sandbox.chat_record().held) == (messages, chat)
        })
        .await;
    }
}

/// Without it a provider that accepts a call and says nothing holds every request up to its time limit, although another would
/// have answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_target_is_left_for_the_next_one_whose_price_counts() {
    for streaming in [false, true] {
        let test = start(TestClock::real(&[PATIENCE])).await;
        let request = test.send_as(&test.key, "[[slow-start]] hello", streaming);
        test.until_both_hold(1, 0).await;
        test.clock.end_pauses(PATIENCE).await;
        until("the second is asked", async || test.sandbox.chat_record().held == 1).await;
        assert_eq!(test.clock.pauses(PATIENCE), 0, "nobody else could answer: it is waited for");
        test.sandbox.release();
        match request.await.expect("no panic") {
            Ok(CompletionResponse::Whole(_)) if !streaming => {}
            Ok(CompletionResponse::Stream(mut stream)) if streaming => {
                while let Some(batch) = std::future::poll_fn(|cx| stream.poll_next(cx)).await {
                    batch.expect("events");
                }
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(test.report.facts().target.as_deref(), Some("q/gpt-sim"));
        assert_eq!(test.report.facts().attempts, 2);
        let (held, spent) = (test.report.facts().held.expect("a hold"), test.spent().await);
        assert_eq!(spent.0 % 10, 0, "ten a token: {spent:?}");
        assert!(spent > Credits::ZERO && held >= spent);
        // 400 tokens of frames and 100 of the answer at the dearer price, and more.
        assert!(held > Credits(10 * 500), "held by the dearest: {held:?}");
        assert!(test.ledger_is_clean());
    }
}

/// Without it an account that takes whole requests and never answers is asked for ever, or long answers keep every request from
/// the provider that writes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_answers_that_never_come_take_an_account_out_unless_it_answers_others() {
    for answers_others in [true, false] {
        let test = start(TestClock::at(1_767_225_600_000)).await;
        for round in 0..5 {
            let request = test.send_as(&test.key, "[[slow-start]] hello", false);
            test.until_both_hold(1, 0).await;
            test.clock.armed(PATIENCE).await;
            test.clock.advance(PATIENCE);
            until("the second is asked", async || test.sandbox.chat_record().held == 1).await;
            test.sandbox.release();
            let answered = request.await.expect("no panic");
            assert!(matches!(answered, Ok(CompletionResponse::Whole(_))), "round {round}");
            if answers_others {
                assert!(test.send_as(&test.key, "hello", false).await.expect("no panic").is_ok());
            }
        }
        let asked = test.sandbox.messages_record().count;
        assert!(test.send_as(&test.key, "hello", false).await.expect("no panic").is_ok());
        let is_asked = test.sandbox.messages_record().count > asked;
        assert_eq!(is_asked, answers_others);
        test.spent().await;
        assert!(test.ledger_is_clean());
    }
}

/// Without it each target has the whole time limit, and a request outlives its hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_targets_have_one_time_limit() {
    let test = start(TestClock::at(1_767_225_600_000)).await;
    let request = test.send_as(&test.key, "[[slow-start]] [[slow-event]] hello", true);
    test.until_both_hold(1, 0).await;
    test.clock.armed(PATIENCE).await;
    test.clock.advance(PATIENCE);
    until("the second is asked", async || test.sandbox.chat_record().held == 1).await;
    test.sandbox.release();
    let rest = TIME_LIMIT - PATIENCE;
    test.clock.armed(rest).await;
    test.clock.advance(rest);
    let failed = request.await.expect("no panic");
    assert!(matches!(failed, Err(TextError::Timeout)), "{failed:?}");
    assert_eq!(test.spent().await, Credits::ZERO);
}

/// Without it the customer that came first with many requests has both targets for itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn customers_share_what_becomes_free_at_any_target() {
    let test = start(TestClock::real(&[PATIENCE, PERMIT_WAIT])).await;
    let other = customer_named(&test.process.store, "other", 4, test.clock.now()).await;
    let first: Vec<_> = (0..2).map(|_| test.send_as(&test.key, "[[slow-start]] hello", false)).collect();
    test.until_both_hold(1, 1).await;
    // They wait at both targets.
    let crowd: Vec<_> = (0..4).map(|_| test.send_as(&test.key, "[[slow-start]] hello", false)).collect();
    test.clock.armed_times(PERMIT_WAIT, 8).await;
    let others = test.send_as(&other, "[[slow-start]] hello", false);
    test.clock.armed_times(PERMIT_WAIT, 10).await;
    test.sandbox.release();
    for request in first {
        assert!(request.await.expect("no panic").is_ok());
    }
    test.until_both_hold(1, 1).await;
    test.sandbox.release();
    assert!(others.await.expect("no panic").is_ok(), "with the first two that became free");
    test.until_both_hold(1, 1).await;
    let served = || crowd.iter().filter(|request| request.is_finished()).count();
    until("one of the crowd is served", async || served() == 1).await;
    until("all are served", async || {
        test.sandbox.release();
        served() == crowd.len()
    })
    .await;
    assert!(test.ledger_is_clean());
}
