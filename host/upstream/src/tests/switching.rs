//! Providers replaced while the gateway runs: what stays, what begins anew, and where credentials go.

use std::sync::atomic::Ordering;

use super::*;
use crate::AccountChange;
use crate::pool::account::{HealthSignal, NoPermit};
use crate::pool::permits::CallPermit;

/// The secret of `{ env = "X" }` is `X`.
fn by_name(reference: &SecretRef) -> Result<Secret<String>, String> {
    match reference {
        SecretRef::Env(name) if name.starts_with("UNSET") => Err(format!("{name} is not set")),
        SecretRef::Env(name) => Ok(Secret::new(name.clone())),
        other => Err(format!("{other:?}")),
    }
}

fn open(clock: &Arc<TestClock>, text: &str) -> Upstream {
    let (clock, seed) = (Arc::clone(clock), Arc::new(TestSeed::default()));
    Upstream::new(&config(text), &by_name, clock, seed, Arc::new(SystemResolver)).unwrap()
}

/// Switches to `text`; the accounts that changed.
fn switch(upstream: &Upstream, text: &str) -> Vec<AccountChange> {
    let prepared = upstream.prepare(&config(text).providers, &by_name).ok().unwrap();
    let changes = upstream.changes(&prepared);
    upstream.switch(prepared);
    changes
}

#[test]
fn an_account_that_stays_keeps_permits_rate_and_breaker() {
    let clock = TestClock::skipping_pauses_at(1_000_000);
    let accounts = [("full", "concurrency = 1"), ("rated", "rate_per_second = 1.0"), ("failing", "")];
    let upstream = open(&clock, &table(API, &accounts));
    let held = upstream.acquire_account("p", &acme(), Some("full")).unwrap();
    let (_, rated) = upstream.acquire_account("p", &acme(), Some("rated")).unwrap();
    rated.progress().sent.store(true, Ordering::Relaxed);
    for _ in 0..5 {
        upstream.acquire_account("p", &acme(), Some("failing")).unwrap().1.report(HealthSignal::Failing);
    }
    // Another weight, another account, another limit of the provider: the three are the same accounts.
    let with_more = [&accounts[..], &[("more", "secret = { env = \"MORE\" }\nweight = 7")]].concat();
    let changes = switch(&upstream, &format!("{}\n", table(API, &with_more)));
    assert_eq!(changes, [AccountChange::Added("providers.p.accounts.more".to_owned())]);
    let refusal = |account| upstream.acquire_account("p", &acme(), Some(account)).map(drop).unwrap_err();
    assert_eq!(refusal("full"), NoPermit::Busy);
    assert!(
        matches!(refusal("rated"), NoPermit::Until(_)) && matches!(refusal("failing"), NoPermit::Until(_))
    );
    assert!(upstream.acquire_account("p", &acme(), Some("more")).is_ok());
    // The permit of the earlier configuration is returned to the same account.
    drop(held);
    assert!(upstream.acquire_account("p", &acme(), Some("full")).is_ok());
}

#[test]
fn new_credentials_or_another_address_get_another_try() {
    let clock = TestClock::skipping_pauses_at(1_000_000);
    let spare = ("b", "priority = 9");
    let upstream = open(&clock, &table(API, &[("a", ""), spare]));
    upstream.acquire_account("p", &acme(), Some("a")).unwrap().1.report(HealthSignal::AccountRefused);
    assert_eq!(name(&upstream).unwrap(), "b");
    let changes = switch(&upstream, &table(API, &[("a", "secret = { env = \"OTHER\" }"), spare]));
    assert_eq!(changes, [AccountChange::NewSecret("providers.p.accounts.a.secret".to_owned())]);
    assert_eq!(name(&upstream).unwrap(), "a");
    for _ in 0..5 {
        upstream.acquire_account("p", &acme(), Some("a")).unwrap().1.report(HealthSignal::Failing);
    }
    assert_eq!(name(&upstream).unwrap(), "b");
    switch(&upstream, &table("https://elsewhere.example.com", &[("a", ""), spare]));
    assert_eq!(name(&upstream).unwrap(), "a");
}

#[test]
fn what_is_removed_is_unknown_and_a_snapshot_still_has_it() {
    let clock = TestClock::skipping_pauses_at(1_000_000);
    let upstream = open(&clock, &table(API, &[("a", ""), ("b", "")]));
    let (snapshot, held) = (upstream.snapshot(), upstream.acquire_account("p", &acme(), Some("b")).unwrap());
    let changes = switch(&upstream, &table(API, &[("a", "")]));
    assert_eq!(changes, [AccountChange::Removed("providers.p.accounts.b".to_owned())]);
    assert_eq!(upstream.acquire_call("p", "b").unwrap_err(), NoPermit::Unknown);
    assert!(snapshot.acquire_call("p", "b").is_ok());
    switch(&upstream, "");
    assert!(!upstream.knows("p") && snapshot.knows("p"));
    assert!(snapshot.acquire_account("p", &acme(), None).is_ok());
    drop(held);
}

#[test]
fn errors_are_found_all_at_once_and_change_nothing() {
    let clock = TestClock::skipping_pauses_at(1_000_000);
    let upstream = open(&clock, &table(API, &[("a", "")]));
    let wrong = format!(
        "{}[providers.q]\nbase_url = \"ftp://x\"\n[providers.q.accounts.a]\n",
        table(API, &[("a", "secret = { env = \"UNSET\" }")])
    );
    let errors = upstream.prepare(&config(&wrong).providers, &by_name).err().unwrap();
    let keys: Vec<&str> = errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["providers.p.accounts.a.secret", "providers.q.base_url"]);
    assert_eq!(Upstream::check(&config(&wrong), &by_name), errors);
    assert!(upstream.acquire_account("p", &acme(), None).is_ok());
}

#[tokio::test]
async fn a_call_ends_where_its_credentials_belong() {
    let answer = |_: &Received| reply(200, &[], "{}");
    let (old, new) = (Provider::start(answer).await, Provider::start(answer).await);
    let clock = TestClock::skipping_pauses_at(1_000_000);
    let upstream = open(&clock, &table(&old.url(), &[("a", "secret = { env = \"OLD\" }")]));
    let (_job, before) = upstream.acquire_account("p", &acme(), None).unwrap();
    let snapshot = upstream.snapshot();
    switch(&upstream, &table(&new.url(), &[("a", "secret = { env = \"NEW\" }")]));
    let blobs = Memory::default();
    let send = async |permit: CallPermit| {
        permit.call(&get(path("/x")), &blobs, NEVER).await.unwrap();
    };
    send(before).await;
    send(upstream.acquire_call("p", "a").unwrap()).await;
    send(snapshot.acquire_call("p", "a").unwrap()).await;
    let keys = |provider: &Provider| -> Vec<String> {
        let all = provider.received();
        all.iter().map(|one| one.header("authorization").unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(keys(&old), ["Bearer OLD", "Bearer OLD"]);
    assert_eq!(keys(&new), ["Bearer NEW"]);
}
