//! Accounts that sign, make tokens or fetch them: against providers that recompute everything from the bytes they received,
//! with code of their own (`verify`).

mod config;
mod hmac;
mod jwt;
mod refresh;
mod service_account;
mod verify;

use super::*;

/// 2026-11-22T02:00:00Z.
pub(super) const NOW: u64 = 1_795_312_800_000;
pub(super) const SIGNING_SECRET: &str = "c2lnbmluZy1zZWNyZXQ/+for-tests==";
pub(super) const KEY_ID: &str = "AKLTtests0123456789";
pub(super) const PKCS8: &str = include_str!("keys/pkcs8.pem");

/// Secrets by the name of their variable: key ids, and secrets that end with the name after `SECRET`.
pub(super) fn by_name(reference: &SecretRef) -> Result<Secret<String>, String> {
    let SecretRef::Env(name) = reference else { return Err(format!("{reference:?}")) };
    let text = match name.as_str() {
        "ID" => KEY_ID.to_owned(),
        "SECRET" => SIGNING_SECRET.to_owned(),
        other => other.to_owned(),
    };
    Ok(Secret::new(text))
}

pub(super) fn upstream_of(text: &str, clock: &Arc<TestClock>) -> Upstream {
    upstream_with_secrets(text, clock, &by_name)
}

pub(super) fn upstream_with_secrets(
    text: &str,
    clock: &Arc<TestClock>,
    secrets: &dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
) -> Upstream {
    let seed = Arc::new(TestSeed::counting_from(7));
    Upstream::new(&config(text), secrets, Arc::clone(clock) as _, seed, Arc::new(SystemResolver)).unwrap()
}

/// Provider `p` at `base`, whose account `main` has key id and secret.
pub(super) fn keyed(base: &str, auth: &str) -> String {
    format!("{}key_id = {{ env = \"ID\" }}\n", provider(base, auth)).replace("\"KEY\"", "\"SECRET\"")
}

pub(super) async fn call_as(
    upstream: &Upstream,
    account: &str,
    call: &Call,
    blobs: &dyn Blobs,
) -> Result<Reply, gatehouse_model::Outage> {
    let permit = upstream.acquire_call("p", account).unwrap();
    permit.call(call, blobs, NEVER).await
}
