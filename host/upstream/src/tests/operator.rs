//! What operators see of accounts, and the switch that keeps new work away from one.

use super::fairness::Granted;
use super::*;
use crate::pool::account::HealthSignal;
use crate::pool::operator::{AccountOverview, BreakerState};

fn one(upstream: &Upstream, account: &str) -> AccountOverview {
    let all = upstream.overview("p").unwrap().accounts;
    all.into_iter().find(|known| known.name == account).unwrap()
}

#[test]
fn a_drained_account_gets_no_new_work_and_keeps_what_it_has() {
    let upstream = pool(&TestClock::at(0), &[("a", "priority = 1"), ("b", "priority = 2")]);
    let (running, _) = upstream.acquire_account("p", &acme(), None).unwrap();
    assert_eq!(running.account(), "a");
    assert_eq!(upstream.drain("p", "a", true), Some(false));
    assert_eq!(upstream.drain("p", "a", true), Some(true), "again changes nothing");
    assert_eq!(name(&upstream).unwrap(), "b");
    assert!(upstream.acquire_call("p", "a").is_ok(), "a task under way is polled");
    let bound = upstream.acquire_account("p", &acme(), Some("a")).unwrap();
    assert_eq!(bound.0.account(), "a", "a follow-up exists there alone");
    assert!(upstream.resume("p", "a", &acme()).is_some(), "a job of an earlier process goes on");
    assert_eq!(upstream.drain("p", "a", false), Some(true));
    assert_eq!(name(&upstream).unwrap(), "a");
    // What its provider refused is forgotten with it: the operator has seen to that.
    upstream.acquire_account("p", &acme(), Some("a")).unwrap().0.report_failure();
    assert_eq!(name(&upstream).unwrap(), "b");
    assert_eq!(upstream.drain("p", "a", false), Some(false));
    assert_eq!((name(&upstream).unwrap().as_str(), one(&upstream, "a").refused_until), ("a", None));
    // The same by its name, for a reader that has the answer later.
    upstream.report_refused("p", "a");
    upstream.report_refused("p", "none");
    upstream.report_refused("none", "a");
    assert_eq!(name(&upstream).unwrap(), "b");
    assert_eq!(upstream.drain("p", "none", true), None);
    assert_eq!(upstream.drain("none", "a", true), None);
}

#[test]
fn another_account_is_one_that_takes_new_work() {
    let upstream = pool(&TestClock::at(0), &[("a", ""), ("b", "")]);
    let besides = |tried: &[&str]| {
        let tried: Vec<String> = tried.iter().map(ToString::to_string).collect();
        upstream.has_account_besides("p", &tried)
    };
    assert!(besides(&["a"]) && besides(&[]) && !besides(&["a", "b"]));
    upstream.report_refused("p", "b");
    assert!(besides(&["a"]), "one that was refused to others may be asked once more");
    let _ = upstream.drain("p", "b", true);
    assert!(!besides(&["a"]) && !upstream.has_account_besides("none", &[]));
}

#[test]
fn new_work_waits_while_every_account_is_drained() {
    let upstream = pool(&TestClock::at(0), &[("a", "")]);
    let granted = Granted::default();
    let _ = upstream.drain("p", "a", true);
    assert_eq!(name(&upstream), Err(NoPermit::Busy), "it is configured, so waiting helps");
    let _waiting = granted.ask(&upstream, "acme").expect("a position in the queue");
    assert!(granted.names().is_empty());
    let _ = upstream.drain("p", "a", false);
    assert_eq!(granted.names().len(), 1, "it is served at once");
}

/// A refused account is worse than none of the others, and still better than a drained one.
#[test]
fn a_drained_account_is_no_way_around_a_refused_one() {
    let upstream = pool(&TestClock::at(0), &[("a", ""), ("b", "")]);
    upstream.acquire_account("p", &acme(), Some("a")).unwrap().1.report(HealthSignal::AccountRefused);
    let _ = upstream.drain("p", "b", true);
    assert_eq!(name(&upstream).unwrap(), "a");
}

#[test]
fn a_stream_at_a_drained_account_keeps_its_permit_from_others() {
    let settings = [("a", "concurrency = 1"), ("b", "concurrency = 1")];
    let upstream = pool(&TestClock::at(0), &settings);
    let granted = Granted::default();
    let (mut abandoned, _) = upstream.acquire_account("p", &acme(), Some("a")).unwrap();
    let _held = upstream.acquire_account("p", &acme(), Some("b")).unwrap();
    let _end = abandoned.abandon();
    let _ = upstream.drain("p", "a", true);
    let _waiting = granted.ask(&upstream, "other").expect("b is full, a drained");
    assert_eq!(one(&upstream, "a").in_flight, 1);
}

#[test]
fn the_switch_outlives_a_change_of_the_configuration() {
    let upstream = pool(&TestClock::at(0), &[("a", ""), ("b", "")]);
    let _ = upstream.drain("p", "a", true);
    for base in [API, "https://elsewhere.example.com"] {
        let next = config(&table(base, &[("b", ""), ("a", "weight = 7")]));
        upstream.switch(upstream.prepare(&next.providers, &secrets).ok().unwrap());
        assert!(one(&upstream, "a").drained, "{base}");
        assert!(!one(&upstream, "b").drained, "{base}");
        assert_eq!(one(&upstream, "a").weight, 7, "{base}");
        assert_eq!(name(&upstream).unwrap(), "b", "{base}");
    }
}

#[test]
fn an_overview_tells_what_is_used_and_who_waits() {
    let clock = TestClock::at(1_000);
    let upstream = pool(&clock, &[("a", "concurrency = 3\nrate_per_second = 5.0")]);
    let granted = Granted::default();
    let mut waiting: Vec<_> = (0..5).filter_map(|_| granted.ask(&upstream, "few")).collect();
    waiting.extend((0..3).filter_map(|_| granted.ask(&upstream, "other")));
    let shown = upstream.overview("p").unwrap();
    let account = one(&upstream, "a");
    assert_eq!((account.in_flight, account.limit, account.reserve, account.rate), (3, 3, 0, Some(5.0)));
    assert_eq!((account.breaker, account.drained), (BreakerState::Closed, false));
    assert_eq!(shown.waiting, 5);
    let expected = [("other", 3), ("few", 2)].map(|(name, count)| (CustomerId::from(name), count));
    assert_eq!(shown.waiting_by_customer, expected);
    assert_eq!(upstream.overviews().len(), 1);
    assert_eq!(upstream.overview("q"), None);
    drop(waiting);
}

#[test]
fn no_more_than_twenty_customers_are_named() {
    let upstream = pool(&TestClock::at(0), &[("a", "concurrency = 1")]);
    let granted = Granted::default();
    let _first = granted.ask(&upstream, "first");
    let _waiting: Vec<_> = (0..50)
        .flat_map(|number| (0..=number % 3).map(move |_| number))
        .map(|number| granted.ask(&upstream, &format!("c{number:02}")))
        .collect();
    let shown = upstream.overview("p").unwrap();
    let counts: Vec<usize> = shown.waiting_by_customer.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [[3; 16].as_slice(), &[2; 4]].concat());
    assert_eq!(shown.waiting_by_customer[16].0, CustomerId::from("c01"));
    assert_eq!(shown.waiting, 16 * 3 + 17 * 2 + 17);
}

#[test]
fn a_breaker_and_the_pauses_are_told_until_they_end() {
    let clock = TestClock::skipping_pauses_at(1_000_000);
    let upstream = pool(&clock, &[("a", "")]);
    let report = |signal| upstream.acquire_account("p", &acme(), None).unwrap().1.report(signal);
    report(HealthSignal::RateLimited(Some(Duration::from_secs(7))));
    assert_eq!(one(&upstream, "a").paused_until, Some(UnixMs(1_007_000)));
    clock.advance_ms(7_000);
    report(HealthSignal::AccountRefused);
    let shown = one(&upstream, "a");
    assert_eq!((shown.paused_until, shown.refused_until), (None, Some(UnixMs(1_307_000))));
    for _ in 0..5 {
        report(HealthSignal::Failing);
    }
    let BreakerState::Open(until) = one(&upstream, "a").breaker else { panic!("five failures open it") };
    clock.advance_ms(until.since(clock.now()).as_millis() as u64);
    assert_eq!(one(&upstream, "a").breaker, BreakerState::HalfOpen);
    report(HealthSignal::Healthy);
    assert_eq!(one(&upstream, "a").breaker, BreakerState::Closed);
}

#[tokio::test]
async fn the_last_errors_are_kept_without_secrets_or_bodies() {
    let statuses = Mutex::new([503, 429, 401, 400, 200].into_iter());
    let answer = move |_: &Received| {
        let status = statuses.lock().unwrap().next().unwrap_or(200);
        reply(status, &[("retry-after", "1")], "a body with words of a client")
    };
    let simulated = Provider::start(answer).await;
    let clock = TestClock::at(1_000_000);
    let text = provider(&simulated.url(), "");
    let upstream = upstream_with(&text, Arc::clone(&clock), Arc::new(SystemResolver));
    let blobs = Memory::default();
    for _ in 0..5 {
        // Longer than the pause that the provider asks for.
        clock.advance_ms(2_000);
        let permit = upstream.acquire_call("p", "main").unwrap();
        drop(permit.call(&get(path("/x")), &blobs, NEVER).await.unwrap());
    }
    let texts: Vec<String> = one(&upstream, "main").last_errors.into_iter().map(|error| error.text).collect();
    let expected = [
        "401: the account's credentials or credit are refused",
        "429: too many requests",
        "503: the provider failed",
    ];
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn an_outage_is_kept_with_its_cause() {
    let address = serve_raw(|stream| async { drop(stream) }).await;
    let text = provider(&format!("http://{address}"), "");
    let upstream = upstream(&text);
    let permit = upstream.acquire_account("p", &acme(), None).unwrap().1;
    let target = path(&format!("/x?key={SECRET}"));
    assert!(permit.call(&get(target), &Memory::default(), NEVER).await.is_err());
    let errors = one(&upstream, "main").last_errors;
    assert_eq!(errors.len(), 1);
    assert!(errors[0].text.starts_with("broken: "), "{errors:?}");
    assert!(!errors[0].text.contains(SECRET), "{errors:?}");
}
