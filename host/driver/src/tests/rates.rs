//! Rates of keys, exactly at their moments: the clock stands still until the test moves it.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{
    CompletionResponse, LimitKind, RateLimited, Receipt, RequestReport, SubmitError, SubmitRequest, TextError,
};
use gatehouse_harness::TestClock;
use gatehouse_model::{Clock as _, Credits, Key, KeyPolicy, Limits, QuotaPeriod};
use gatehouse_sample::at_once;
use gatehouse_tasks::{Applied, Command};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::tests::support::{self, Process, PuppetTest};
use crate::tests::text_timeouts::TextTest;

/// The key after an edit.
async fn edited(process: &Process, key: &Key, change: impl FnOnce(&mut KeyPolicy)) -> Arc<Key> {
    let row = process.store.key(&key.id).await.expect("readable").expect("a key");
    let mut policy = Box::new(row.policy());
    change(&mut policy);
    let command = Command::EditKey { id: row.id, revision: row.revision, policy, at: row.created };
    match process.store.execute(command).await.expect("a store").expect("allowed") {
        Applied::Key(key) => Arc::new(*key),
        other => panic!("{other:?}"),
    }
}

fn limits(requests: u32, tokens: u32, concurrency: u32) -> Limits {
    Limits {
        requests_per_minute: NonZeroU32::new(requests),
        tokens_per_minute: NonZeroU32::new(tokens),
        concurrency: NonZeroU32::new(concurrency),
    }
}

fn submission(key: &Arc<Key>, model: &str, report: &RequestReport) -> SubmitRequest {
    let body = json!({"model": model, "script": {"steps": [{"wait": 3_600_000}, {"done": {}}]}});
    SubmitRequest { report: report.clone(), ..support::submission(key, &body) }
}

async fn submitted_at_once(
    test: &PuppetTest,
    key: &Arc<Key>,
    number: usize,
) -> Vec<Result<Receipt, SubmitError>> {
    let all: JoinSet<_> = (0..number)
        .map(|_| {
            let request = submission(key, "puppet-1", &RequestReport::default());
            let driver = test.process.driver.clone();
            async move { driver.intake.submit(request).await }
        })
        .collect();
    all.join_all().await
}

fn limited(error: SubmitError) -> RateLimited {
    match error {
        SubmitError::RateLimited(limited) => limited,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_pass_at_the_moment_a_refusal_names_and_no_earlier() {
    let test = PuppetTest::with(|_| unreachable!("nothing is called"), &["main"]).await;
    let key = edited(&test.process, &test.key, |policy| {
        policy.limits = limits(3, 0, 0);
        policy.model_limits = [("puppet-1".to_owned(), limits(2, 0, 0))].into();
    })
    .await;
    let submit = async |key: &Arc<Key>, model: &str| {
        let report = RequestReport::default();
        let outcome = test.process.driver.intake.submit(submission(key, model, &report)).await;
        (outcome, report.status(test.clock.now()).requests.map(|status| status.remaining))
    };
    // A request that is not valid counts against nothing.
    assert!(matches!(submit(&key, "puppet-9").await, (Err(SubmitError::UnknownModel(_)), None)));
    for left in [1, 0] {
        let (outcome, remaining) = submit(&key, "puppet-1").await;
        outcome.expect("a receipt");
        assert_eq!(remaining, Some(left), "of the model's two");
    }
    let (outcome, remaining) = submit(&key, "puppet-1").await;
    let refused = limited(outcome.expect_err("the third"));
    assert_eq!(
        (refused.kind, refused.limit.get(), refused.model.as_deref()),
        (LimitKind::Requests, 2, Some("puppet-1"))
    );
    assert_eq!((refused.seconds(), remaining, &refused.key), (Some(30), Some(0), &key.id));
    test.clock.advance_ms(29_999);
    limited(submit(&key, "puppet-1").await.0.expect_err("a millisecond early"));
    test.clock.advance_ms(1);
    submit(&key, "puppet-1").await.0.expect("on time");

    // A refusal for money gives back what it took; without the model's limit one of three is left after 30 s.
    let poor = edited(&test.process, &key, |policy| {
        policy.quota = Some(Credits::ZERO);
        policy.model_limits.clear();
    })
    .await;
    let before = 1;
    for _ in 0..3 {
        let (outcome, remaining) = submit(&poor, "puppet-1").await;
        assert!(matches!(outcome, Err(SubmitError::QuotaExceeded(_))), "{outcome:?}");
        assert_eq!(remaining, Some(before));
    }
}

/// Without it two requests could each find the last credit, or a day begin early.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_exact_for_two_hundred_at_once_and_resets_to_the_millisecond() {
    let test = PuppetTest::with(|_| unreachable!("nothing is called"), &["main"]).await;
    let first =
        test.process.driver.intake.submit(submission(&test.key, "puppet-1", &RequestReport::default()));
    let first = first.await.expect("a receipt").task;
    let price = test.process.store.task(first).await.expect("readable").expect("a task").held;
    // Tasks have half an hour.
    let period: QuotaPeriod = "day".parse().expect("a period");
    let resets = period.end(test.clock.now());
    test.clock.advance_ms(resets.0 - test.clock.now().0 - 600_000);
    let key = edited(&test.process, &test.key, |policy| {
        policy.quota = Some(Credits(3 * price.0 + 1));
        policy.quota_period = Some(period);
    })
    .await;
    let at_once = async || {
        let (mut taken, mut refused) = (0, Vec::new());
        for outcome in submitted_at_once(&test, &key, 200).await {
            match outcome {
                Ok(_) => taken += 1,
                Err(SubmitError::QuotaExceeded(short)) => refused.push((short.remaining, short.resets)),
                Err(other) => panic!("{other:?}"),
            }
        }
        assert!(refused.iter().all(|(remaining, _)| *remaining < price), "{refused:?}");
        (taken, refused.pop().and_then(|(_, resets)| resets))
    };
    assert_eq!(at_once().await, (3, Some(resets)));
    test.clock.advance_ms(599_999);
    assert_eq!(at_once().await, (0, Some(resets)));
    test.clock.advance_ms(1);
    assert_eq!(at_once().await, (3, Some(period.end(resets))));
    let funds = test.process.driver.balances.funds(&key).await.expect("readable").expect("a customer");
    let used = funds.key_quota.expect("a quota");
    assert_eq!((used.used, used.resets), (Credits(3 * price.0), Some(period.end(resets))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_submissions_at_once_never_exceed_the_concurrency() {
    let test = PuppetTest::with(|_| unreachable!("nothing is called"), &["main"]).await;
    let key = edited(&test.process, &test.key, |policy| policy.limits = limits(100, 0, 5)).await;
    let (mut tasks, mut refused) = (Vec::new(), 0);
    for outcome in submitted_at_once(&test, &key, 50).await {
        match outcome {
            Ok(receipt) => tasks.push(receipt.task),
            Err(error) => {
                let limited = limited(error);
                assert_eq!((limited.kind, limited.retry_after), (LimitKind::Concurrency, None), "{limited}");
                refused += 1;
            }
        }
    }
    assert_eq!((tasks.len(), refused), (5, 45));
    let open = || at_once(test.process.store.key(&key.id)).expect("readable").expect("a key").open_requests();
    assert_eq!(open(), 5);
    // Refused requests count against no rate.
    let report = RequestReport::default();
    let full = test.process.driver.intake.submit(submission(&key, "puppet-1", &report)).await;
    limited(full.expect_err("full"));
    assert_eq!(report.status(test.clock.now()).requests.map(|status| status.remaining), Some(95));
    for task in tasks {
        test.process.driver.cancels.cancel(&key, task).await.expect("cancelled");
    }
    assert_eq!(open(), 0);
    let again = test.process.driver.intake.submit(submission(&key, "puppet-1", &report)).await;
    again.expect("there is room again");
    assert!(test.process.store.examine().expect("readable").is_clean());
}

impl TextTest {
    /// With a key that has these limits. Time stands still.
    async fn limited(own: Limits) -> Self {
        let account = json!({"main": {"secret": {"env": "KEY"}}});
        let mut test = Self::start_on(TestClock::at(1_767_225_600_000), account, false).await;
        test.key = edited(&test.process, &test.key, |policy| policy.limits = own).await;
        test
    }

    async fn ask(
        &self,
        text: &str,
        max_tokens: u32,
        report: &RequestReport,
    ) -> Result<CompletionResponse, TextError> {
        let request = self.request(&self.key, text, max_tokens, false, report);
        self.process.driver.texts.complete(request).await
    }

    fn remaining(&self, report: &RequestReport) -> Option<u32> {
        report.status(self.clock.now()).tokens.map(|status| status.remaining)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_reserved_then_counted_as_the_provider_counts_and_given_back_where_nothing_is_billed() {
    let test = TextTest::limited(limits(0, 10_000, 0)).await;
    let report = RequestReport::default();
    let CompletionResponse::Whole(body) = test.ask("hello", 4_000, &report).await.expect("an answer") else {
        panic!("a whole body");
    };
    let usage = serde_json::from_slice::<Value>(&body).expect("JSON")["usage"].take();
    let counted = ["input_tokens", "output_tokens"].map(|name| usage[name].as_u64().expect("a count"));
    // At 2 and 5 credits for a million.
    let cost = Credits(i64::try_from(2 * counted[0] + 5 * counted[1]).expect("a small cost"));
    let counted = u32::try_from(counted.iter().sum::<u64>()).expect("a small count");
    assert!(counted > 0 && counted < 4_000, "{usage}");
    assert_eq!(test.remaining(&report), Some(10_000 - counted));
    // Its money too: what the tokens cost, of what was held.
    assert_eq!(report.facts().charged, Some(cost));
    assert!(report.facts().held > Some(cost), "{:?}", report.facts().held);

    // A refused one takes nothing, and neither does one that its provider fails.
    let refused = test.ask("hello", 10_000, &report).await.expect_err("more than is left");
    let TextError::Refused(refused) = refused else { panic!("{refused:?}") };
    let refused = limited(refused);
    assert_eq!((refused.kind, refused.limit.get()), (LimitKind::Tokens, 10_000));
    assert_eq!(test.remaining(&report), Some(10_000 - counted));
    let of_failed = RequestReport::default();
    let failed = test.ask("[[400]] hello", 4_000, &of_failed).await.expect_err("the provider refuses");
    assert!(matches!(failed, TextError::Rejected { .. }), "{failed:?}");
    assert_eq!(of_failed.facts().charged, Some(Credits::ZERO), "what was held is given back");
    assert_eq!(test.remaining(&report), Some(10_000 - counted));
    // As long as the refusal says, and no millisecond less.
    let wait = refused.retry_after.expect("a time");
    test.clock.advance(wait - std::time::Duration::from_millis(1));
    assert!(test.ask("hello", 10_000, &report).await.is_err());
    test.clock.advance_ms(1);
    test.ask("hello", 10_000, &report).await.expect("an answer");
}
