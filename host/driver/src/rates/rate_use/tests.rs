//! Requests of one key against its limits, exactly at their moments.

use gatehouse_model::{CustomerId, Digest, KeyDigest, KeyPolicy};

use super::*;

const NOW: UnixMs = UnixMs(1_800_000_000_000);

fn limits(requests: u32, tokens: u32) -> Limits {
    Limits {
        requests_per_minute: NonZeroU32::new(requests),
        tokens_per_minute: NonZeroU32::new(tokens),
        concurrency: None,
    }
}

fn key(own: Limits, of_model: Option<Limits>) -> Key {
    let model_limits = of_model.map(|limits| ("m".to_owned(), limits)).into_iter().collect();
    let policy = KeyPolicy { limits: own, model_limits, ..KeyPolicy::default() };
    Key::new("k".into(), CustomerId::from("c"), KeyDigest(Digest::default()), NOW, policy)
}

fn after(millis: u64) -> UnixMs {
    UnixMs(NOW.0 + millis)
}

type Taken = (Arc<RateUse>, Result<(), RateLimited>);

fn remaining(used: &RateUse, now: UnixMs) -> (Option<u32>, Option<u32>) {
    let status = used.status(now);
    (status.requests.map(|of| of.remaining), status.tokens.map(|of| of.remaining))
}

#[test]
fn requests_pass_until_the_limit_and_again_at_the_moment_it_says() {
    let (limiter, key) = (Arc::default(), key(limits(3, 0), None));
    let take = |now| -> Taken { RateUse::take(&limiter, &key, "m", Some(10), now) };
    for left in [2, 1, 0] {
        let (used, outcome) = take(NOW);
        assert_eq!((outcome, remaining(&used, NOW)), (Ok(()), (Some(left), None)));
    }
    let (used, refused) = take(NOW);
    let refused = refused.unwrap_err();
    assert_eq!((refused.kind, refused.limit.get(), refused.seconds()), (LimitKind::Requests, 3, Some(20)));
    assert_eq!((used.status(NOW).requests.unwrap().reset), Duration::from_secs(60));
    assert!(take(after(19_999)).1.is_err());
    assert!(take(after(20_000)).1.is_ok());
    assert!(take(after(20_000)).1.is_err());
}

#[test]
fn a_refusal_by_one_limit_leaves_the_others() {
    let (limiter, key) = (Arc::default(), key(limits(10, 100), Some(limits(1, 0))));
    let take = |model| -> Taken { RateUse::take(&limiter, &key, model, Some(10), NOW) };
    take("m").1.unwrap();
    let refused = take("m").1.unwrap_err();
    assert_eq!((refused.model.as_deref(), refused.limit.get()), (Some("m"), 1));
    let (other, outcome) = take("other");
    outcome.unwrap();
    // Two requests of ten tokens have passed.
    assert_eq!(remaining(&other, NOW), (Some(8), Some(80)));
    // The one with the least left is shown.
    assert_eq!(remaining(&take("m").0, NOW), (Some(0), Some(80)));
}

#[test]
fn tokens_are_corrected_by_the_count() {
    let (limiter, key) = (Arc::default(), key(limits(0, 100), None));
    let take = |tokens, now| -> Taken { RateUse::take(&limiter, &key, "m", Some(tokens), now) };
    let (used, _) = take(60, NOW);
    // Without the reservation the second would pass as well.
    assert!(take(60, NOW).1.is_err());
    used.settle(10, NOW);
    assert_eq!(remaining(&used, NOW), (None, Some(90)));
    used.settle(0, NOW);
    assert_eq!(remaining(&used, NOW), (None, Some(90)), "corrected once");
    let (more, _) = take(60, NOW);
    more.settle(120, NOW);
    assert_eq!(remaining(&more, NOW), (None, Some(0)));
    let wait = take(1, NOW).1.unwrap_err();
    assert_eq!(wait.seconds(), Some(19), "30 in debt and 1 more, 0.6 s each, rounded up");
    let (nothing, _) = take(50, after(60_000));
    nothing.settle(0, after(60_000));
    assert_eq!(remaining(&nothing, after(60_000)), (None, Some(70)));
}

#[test]
fn a_small_limit_does_not_make_a_large_request_impossible() {
    let (limiter, key) = (Arc::default(), key(limits(0, 100), None));
    let (used, outcome) = RateUse::take(&limiter, &key, "m", Some(u64::MAX), NOW);
    outcome.unwrap();
    used.settle(u64::MAX, NOW);
    let wait = RateUse::take(&limiter, &key, "m", Some(1_000), NOW).1.unwrap_err();
    assert_eq!(wait.seconds(), Some(120), "the debt is bounded");
}

#[test]
fn a_request_that_was_refused_later_is_given_back() {
    let (limiter, key) = (Arc::default(), key(limits(2, 100), None));
    let (used, _) = RateUse::take(&limiter, &key, "m", Some(60), NOW);
    used.undo(NOW);
    assert_eq!(remaining(&used, NOW), (Some(2), Some(100)));
    used.settle(50, NOW);
    assert_eq!(remaining(&used, NOW), (Some(2), Some(100)));
}

#[test]
fn an_edit_keeps_what_was_taken_and_a_rotation_shares_it() {
    let (limiter, mut key) = (Arc::default(), key(limits(4, 0), None));
    let take = |key: &Key| -> Taken { RateUse::take(&limiter, key, "m", None, NOW) };
    take(&key).1.unwrap();
    take(&key).1.unwrap();
    key.limits = limits(40, 0);
    let (used, _) = take(&key);
    assert_eq!(remaining(&used, NOW), (Some(19), None), "half of it was taken, and one more");
    let successor = Key { id: "n".into(), first: Some("k".into()), ..key.clone() };
    assert_eq!(remaining(&take(&successor).0, NOW), (Some(18), None));
    key.limits = Limits::default();
    assert_eq!(take(&key).0.status(NOW), RateStatus::default());
}

#[test]
fn a_task_takes_no_tokens() {
    let (limiter, key) = (Arc::default(), key(limits(2, 1), None));
    let (used, outcome) = RateUse::take(&limiter, &key, "m", None, NOW);
    assert_eq!((outcome, remaining(&used, NOW)), (Ok(()), (Some(1), None)));
}
