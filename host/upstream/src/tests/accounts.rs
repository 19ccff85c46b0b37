//! Which account a call goes through, and what answers do to it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::Conversation;

use super::*;
use crate::pool::account::{HealthSignal, Limited, NoPermit};
use crate::pool::waiting::Claimant;

/// Takes a permit whose call is made.
fn called(upstream: &Upstream) -> Result<(), NoPermit> {
    let (_, permit) = upstream.acquire_account("p", &acme(), None)?;
    permit.progress().sent.store(true, Ordering::Relaxed);
    Ok(())
}

#[test]
fn places_run_out_and_come_back() {
    let upstream = pool(&TestClock::skipping_pauses_at(0), &[("a", "concurrency = 2")]);
    let (first, _) = upstream.acquire_account("p", &acme(), None).unwrap();
    let (second, _) = upstream.acquire_account("p", &acme(), Some("a")).unwrap();
    assert_eq!(upstream.acquire_account("p", &acme(), None).unwrap_err(), NoPermit::Busy);
    assert_eq!(upstream.acquire_account("p", &acme(), Some("a")).unwrap_err(), NoPermit::Busy);
    assert!(upstream.acquire_call("p", "a").is_ok(), "a job in flight needs no further place");
    drop(first);
    assert!(name(&upstream).is_ok());
    drop(second);
}

#[test]
fn a_job_of_an_earlier_process_has_its_place_whatever_the_limit() {
    let upstream = pool(&TestClock::skipping_pauses_at(0), &[("a", "concurrency = 1")]);
    let places = [upstream.resume("p", "a", &acme()).unwrap(), upstream.resume("p", "a", &acme()).unwrap()];
    assert!(upstream.resume("p", "gone", &acme()).is_none() && upstream.resume("q", "a", &acme()).is_none());
    assert_eq!(name(&upstream), Err(NoPermit::Busy));
    drop(places);
    assert!(name(&upstream).is_ok());
}

#[test]
fn what_is_not_configured_is_unknown() {
    let upstream = pool(&TestClock::skipping_pauses_at(0), &[("a", "")]);
    assert_eq!(upstream.acquire_account("q", &acme(), None).unwrap_err(), NoPermit::Unknown);
    assert_eq!(upstream.acquire_account("p", &acme(), Some("b")).unwrap_err(), NoPermit::Unknown);
    assert!(upstream.knows("p") && !upstream.knows("q"));
}

/// What was made at one API of a company is used through the account of that name at another.
#[test]
fn two_providers_may_have_the_same_accounts() {
    let account = |provider: &str, name: &str| {
        format!("[providers.{provider}.accounts.{name}]\nsecret = {{ env = \"KEY\" }}\n")
    };
    let text = format!(
        "[providers.p]\nbase_url = \"https://api.example.com\"\n{}{}\
         [providers.q]\nbase_url = \"https://q.example.com\"\naccounts_of = \"p\"\n{}{}\
         [providers.r]\nbase_url = \"https://r.example.com\"\n{}",
        account("p", "a"),
        account("p", "b"),
        account("q", "b"),
        account("q", "c"),
        account("r", "b"),
    );
    let upstream = upstream_with(&text, TestClock::skipping_pauses_at(0), Arc::new(SystemResolver));
    let made_by = |provider: &str, name: &str| {
        let (_, permit) = upstream.acquire_account(provider, &acme(), Some(name)).unwrap();
        assert_eq!(permit.affinity(), upstream.affinity(provider, name));
        permit.affinity()
    };
    assert_eq!(upstream.account_of("p", &made_by("q", "b")).as_deref(), Some("b"));
    assert_eq!(upstream.account_of("q", &made_by("p", "b")).as_deref(), Some("b"));
    assert_eq!(upstream.account_of("q", &made_by("p", "a")), None);
    assert_eq!(upstream.account_of("p", &made_by("q", "c")), None);
    assert_eq!(upstream.account_of("p", &made_by("r", "b")), None);
    assert_ne!(made_by("p", "a"), made_by("p", "b"));
}

#[test]
fn a_lower_priority_number_goes_first() {
    let upstream = pool(
        &TestClock::skipping_pauses_at(0),
        &[("spare", "priority = 5"), ("first", "priority = 1\nconcurrency = 1")],
    );
    let (held, _) = upstream.acquire_account("p", &acme(), None).unwrap();
    assert_eq!(held.account(), "first");
    assert_eq!(name(&upstream).unwrap(), "spare");
    drop(held);
    assert_eq!(name(&upstream).unwrap(), "first");
}

#[test]
fn equal_priorities_share_by_weight() {
    let upstream = pool(&TestClock::skipping_pauses_at(0), &[("a", "weight = 1"), ("b", "weight = 3")]);
    let mut shares = BTreeMap::new();
    for _ in 0..400 {
        *shares.entry(name(&upstream).unwrap()).or_insert(0) += 1;
    }
    assert_eq!(shares, BTreeMap::from([("a".to_owned(), 100), ("b".to_owned(), 300)]));
}

/// Without it each request of a conversation may go to another account, where nothing of its prompt is cached.
#[tokio::test]
async fn a_conversation_keeps_its_account_while_that_is_there() {
    let upstream =
        pool(&TestClock::skipping_pauses_at(0), &[("a", "concurrency = 1"), ("b", "concurrency = 1")]);
    let claimant = Claimant { customer: acme(), key: "k".into() };
    let ask = async |conversation: Conversation| {
        let permits = upstream.wait_for_account("p", &claimant, &[], Some(conversation), Duration::ZERO);
        permits.await.expect("an account is free")
    };
    let mut found = BTreeMap::new();
    for number in 0_u32..20 {
        let conversation = Conversation::of(&[&number.to_le_bytes()]);
        let (first, _) = ask(conversation).await;
        let (other, _) = ask(conversation).await;
        assert_ne!(first.account(), other.account(), "its own account is full");
        let own = first.account().to_owned();
        drop((first, other));
        assert_eq!(ask(conversation).await.0.account(), own);
        *found.entry(own).or_insert(0) += 1;
    }
    assert_eq!(found.len(), 2, "conversations are shared: {found:?}");
}

#[test]
fn a_rate_names_the_moment_of_the_next_call() {
    let clock = TestClock::skipping_pauses_at(1000);
    let upstream = pool(&clock, &[("a", "rate_per_second = 2.0")]);
    assert!(called(&upstream).is_ok() && called(&upstream).is_ok());
    let Err(NoPermit::Until(moment)) = name(&upstream) else { panic!("two calls a second are enough") };
    assert_eq!(moment, UnixMs(1500));
    clock.advance_ms(500);
    assert!(name(&upstream).is_ok());
}

#[test]
fn a_call_that_is_not_made_does_not_count_against_the_rate() {
    let upstream = pool(&TestClock::skipping_pauses_at(1000), &[("a", "rate_per_second = 1.0")]);
    let (account, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
    assert!(matches!(name(&upstream), Err(NoPermit::Until(_))));
    drop((permit, account));
    assert!(called(&upstream).is_ok());
    assert!(matches!(name(&upstream), Err(NoPermit::Until(_))));
}

#[test]
fn too_many_calls_pause_the_account() {
    for (asked, pause) in [(Some(7), 7000), (Some(0), 1000), (Some(86_400), 600_000)] {
        let clock = TestClock::skipping_pauses_at(1000);
        let upstream = pool(&clock, &[("a", "")]);
        upstream
            .acquire_account("p", &acme(), None)
            .unwrap()
            .1
            .report(HealthSignal::RateLimited(asked.map(Duration::from_secs)));
        assert_eq!(name(&upstream), Err(NoPermit::Until(UnixMs(1000 + pause))), "{asked:?}");
        clock.advance_ms(pause);
        assert!(name(&upstream).is_ok());
    }
}

#[test]
fn pauses_without_a_number_grow_until_a_call_goes_well() {
    let clock = TestClock::skipping_pauses_at(1000);
    let upstream = pool(&clock, &[("a", "")]);
    let mut pauses = vec![];
    for signal in [
        HealthSignal::RateLimited(None),
        HealthSignal::RateLimited(None),
        HealthSignal::RateLimited(None),
        HealthSignal::Healthy,
        HealthSignal::RateLimited(None),
    ] {
        upstream.acquire_account("p", &acme(), None).unwrap().1.report(signal);
        if let Err(NoPermit::Until(moment)) = name(&upstream) {
            let pause = moment.since(clock.now()).as_millis() as u64;
            pauses.push(pause);
            clock.advance_ms(pause);
        }
    }
    let [first, second, third, after] = pauses[..] else { panic!("{pauses:?}") };
    assert!((500..=1000).contains(&first) && (1000..=2000).contains(&second), "{pauses:?}");
    assert!((2000..=4000).contains(&third) && (500..=1000).contains(&after), "{pauses:?}");
}

#[test]
fn an_account_in_trouble_is_passed_over_while_another_is_whole() {
    let clock = TestClock::skipping_pauses_at(0);
    let upstream = pool(&clock, &[("a", "priority = 1"), ("b", "priority = 2\nconcurrency = 1")]);
    upstream.acquire_account("p", &acme(), Some("a")).unwrap().1.report(HealthSignal::AccountRefused);
    let (held, _) = upstream.acquire_account("p", &acme(), None).unwrap();
    assert_eq!(held.account(), "b");
    // Rather wait for the whole one than fail at the other.
    assert_eq!(name(&upstream), Err(NoPermit::Busy));
    // What is bound to it still goes there.
    assert_eq!(upstream.acquire_account("p", &acme(), Some("a")).unwrap().0.account(), "a");
    drop(held);
    clock.advance_ms(300_000);
    assert_eq!(name(&upstream).unwrap(), "a");
}

#[test]
fn a_lone_account_in_trouble_is_still_used() {
    let upstream = pool(&TestClock::skipping_pauses_at(0), &[("a", "")]);
    upstream.acquire_account("p", &acme(), None).unwrap().1.report(HealthSignal::AccountRefused);
    assert_eq!(name(&upstream).unwrap(), "a");
}

#[test]
fn failures_open_the_breaker_and_one_trial_closes_it() {
    let clock = TestClock::skipping_pauses_at(0);
    let upstream = pool(&clock, &[("a", "")]);
    for _ in 0..5 {
        upstream.acquire_account("p", &acme(), None).unwrap().1.report(HealthSignal::Failing);
    }
    let Err(NoPermit::Until(moment)) = name(&upstream) else { panic!("five failures open it") };
    clock.advance_ms(moment.0);
    let (_place, trial) = upstream.acquire_account("p", &acme(), None).unwrap();
    assert_eq!(name(&upstream), Err(NoPermit::Until(clock.now().plus(Duration::from_secs(1)))));
    // A trial that told nothing makes room for the next.
    drop(trial);
    upstream.acquire_account("p", &acme(), None).unwrap().1.report(HealthSignal::Healthy);
    assert!(name(&upstream).is_ok());
}

#[test]
fn an_open_breaker_sends_calls_to_the_spare() {
    let upstream = pool(&TestClock::skipping_pauses_at(0), &[("a", "priority = 1"), ("b", "priority = 2")]);
    for _ in 0..5 {
        upstream.acquire_account("p", &acme(), None).unwrap().1.report(HealthSignal::Failing);
    }
    assert_eq!(name(&upstream).unwrap(), "b");
}

/// Without it an account that takes whole requests and never answers is asked for ever, or one that writes long answers beside
/// short ones is taken out.
#[test]
fn whole_answers_that_never_come_count_where_the_account_answers_nothing_else() {
    // How many are waited for at once, and whether another answer comes meanwhile.
    for (at_once, answers, is_taken_out) in
        [(1, false, true), (5, false, true), (1, true, false), (5, true, false)]
    {
        let upstream =
            pool(&TestClock::skipping_pauses_at(0), &[("a", "priority = 1"), ("b", "priority = 2")]);
        for _ in 0..5 / at_once {
            let acquire = |_| upstream.acquire_account("p", &acme(), Some("a")).unwrap().0;
            let waited: Vec<_> = (0..at_once).map(acquire).collect();
            if answers {
                upstream.acquire_call("p", "a").unwrap().report(HealthSignal::Healthy);
            }
            waited.iter().for_each(|permit| permit.report_no_answer());
        }
        let expected = if is_taken_out { "b" } else { "a" };
        assert_eq!(name(&upstream).unwrap(), expected, "{at_once} at once, {answers}");
    }
}

/// Without it work waits for an account whose plan is used up, and nobody hears of it.
#[test]
fn too_many_requests_for_minutes_are_told_once() {
    let clock = TestClock::skipping_pauses_at(0);
    let upstream = pool(&clock, &[("a", "")]);
    let report = |signal| {
        clock.advance_ms(60_000);
        upstream.acquire_call("p", "a").unwrap().report(signal);
        upstream.overview("p").unwrap().accounts[0].rate_limited_since
    };
    let limited = HealthSignal::RateLimited(None);
    assert_eq!(report(limited), Some(UnixMs(60_000)));
    assert_eq!(report(limited), Some(UnixMs(60_000)));
    assert_eq!(report(HealthSignal::Healthy), None);
    assert_eq!(report(limited), Some(UnixMs(240_000)));
    let mut known = None;
    let told = [0, 299, 301, 600].map(|seconds| {
        let (next, tell) = Limited::again(known, UnixMs(seconds * 1000));
        known = Some(next);
        tell
    });
    assert_eq!(told, [false, false, true, false], "once, after five minutes");
}
