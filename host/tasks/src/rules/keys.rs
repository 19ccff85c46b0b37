//! The rules of keys: made, edited, rotated, revoked. What they spend is in `funds`.

use std::time::Duration;

use gatehouse_model::{Credits, Key, KeyDigest, KeyId, KeyPolicy, QuotaPeriod, UnixMs};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop, customer_of};
use crate::ledger::quota::PeriodCounter;
use crate::rules::funds::valid_key;
use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::alerts;

/// The longest time that a rotated key and its successor may both work.
pub const MAX_OVERLAP: Duration = Duration::from_secs(7 * 86_400);

pub(crate) fn add_key<B: LedgerStorage>(storage: &mut B, key: Key) -> Ruling<Applied, B> {
    if key.used != Credits::ZERO || key.period_use.is_some() || !key.open.is_empty() {
        return Err(malformed("used", format!("expected a new key, not one that used {}", key.used)));
    }
    if key.rotated_from.is_some() || key.rotated_to.is_some() || key.first.is_some() {
        return Err(malformed("rotated_from", "expected a key that replaces none".to_owned()));
    }
    check_quota_policy(key.quota, key.quota_period)?;
    check_quota_alert(key.quota_alert)?;
    customer_of(storage, &key.customer)?;
    check_new(storage, &key.id, &key.digest)?;
    storage.put_key(&key)?;
    Ok(Applied::Done)
}

/// Replaces the whole policy of a key that is as the sender saw it.
pub(crate) fn edit_key<B: LedgerStorage>(
    storage: &mut B,
    id: &KeyId,
    revision: u64,
    policy: KeyPolicy,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let key = unrevoked(storage, id)?;
    if key.revision != revision {
        let rejection = Rejection::KeyChanged { key: key.id, given: revision, current: key.revision };
        return Err(Stop::Rejected(rejection));
    }
    check_quota_policy(policy.quota, policy.quota_period)?;
    check_quota_alert(policy.quota_alert)?;
    let quota = (policy.quota, policy.quota_period);
    let sets_quota = quota != (key.quota, key.quota_period);
    let is_news = sets_quota || policy.quota_alert != key.quota_alert;
    let limits_differ = is_news || policy.limits != key.limits || policy.model_limits != key.model_limits;
    if let Some(to) = key.rotated_to.clone().filter(|_| limits_differ) {
        return Err(Stop::Rejected(Rejection::KeyRotated { key: key.id, to }));
    }
    let is_other_period = policy.quota_period != key.quota_period;
    let revision = key.revision.saturating_add(1);
    let mut key = Key { revision, ..key.with_policy(policy) };
    if sets_quota {
        PeriodCounter::of_key(&mut key).edited(is_other_period, at);
        // What is used may be more than the new quota. That alone is no violation of it.
        key.used_before_quota = key.quota_use(at).map_or(key.used, |quota| quota.used);
    }
    // Another quota, or another share of it, is news again.
    let told = key.quota_told.filter(|_| !is_news);
    let is_due = is_news && alerts::key_due(told, &mut key, at);
    storage.put_key(&key)?;
    if is_due {
        let customer = customer_of(storage, &key.customer)?;
        alerts::tell_of_key(storage, &customer, &key, at)?;
    }
    Ok(Applied::Key(Box::new(key)))
}

/// Makes a key with the policy of another, which ends at `until` or when it would have ended.
pub(crate) fn rotate_key<B: LedgerStorage>(
    storage: &mut B,
    id: KeyId,
    until: UnixMs,
    new: KeyId,
    digest: KeyDigest,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let old = valid_key(storage, id, at)?;
    if let Some(to) = old.rotated_to {
        return Err(Stop::Rejected(Rejection::KeyRotated { key: old.id, to }));
    }
    if until < at || until > at.plus(MAX_OVERLAP) {
        let problem = format!("expected 0 to 7 days from {at}, not {until}");
        return Err(malformed("until", problem));
    }
    check_new(storage, &new, &digest)?;
    let key = Key {
        id: new.clone(),
        digest,
        created: at,
        revision: 0,
        rotated_from: Some(old.id.clone()),
        first: Some(old.lineage().clone()),
        ..old.clone()
    };
    let expires = Some(old.expires.map_or(until, |expires| expires.min(until)));
    let revision = old.revision.saturating_add(1);
    storage.put_key(&Key { expires, revision, rotated_to: Some(new), ..old })?;
    storage.put_key(&key)?;
    Ok(Applied::Key(Box::new(key)))
}

/// A key that was revoked before stays as it is.
pub(crate) fn revoke_key<B: LedgerStorage>(storage: &mut B, id: KeyId, at: UnixMs) -> Ruling<Applied, B> {
    let Some(mut key) = storage.key(&id)? else {
        return Err(Stop::Rejected(Rejection::NoKey(id)));
    };
    if key.revoked.is_none() {
        key.revoked = Some(at);
        key.revision = key.revision.saturating_add(1);
        storage.put_key(&key)?;
    }
    Ok(Applied::Key(Box::new(key)))
}

fn unrevoked<B: LedgerStorage>(storage: &B, id: &KeyId) -> Ruling<Key, B> {
    match storage.key(id)? {
        Some(key) if key.revoked.is_none() => Ok(key),
        Some(key) => Err(Stop::Rejected(Rejection::KeyRevoked(key.id))),
        None => Err(Stop::Rejected(Rejection::NoKey(id.clone()))),
    }
}

/// An id and a digest that no key has.
fn check_new<B: LedgerStorage>(storage: &B, id: &KeyId, digest: &KeyDigest) -> Ruling<(), B> {
    if id.0.is_empty() {
        return Err(malformed("id", "expected a key's public part, not an empty text".to_owned()));
    }
    if storage.key(id)?.is_some() || storage.key_of(digest)?.is_some() {
        return Err(Stop::Rejected(Rejection::KeyExists(id.clone())));
    }
    Ok(())
}

/// Checks the share of a quota at which webhooks are told.
pub(crate) fn check_quota_alert<E>(percent: Option<u8>) -> Result<(), Stop<E>> {
    match percent {
        Some(percent) if !(1..=100).contains(&percent) => {
            Err(malformed("quota_alert", format!("expected 1 to 100 percent, not {percent}")))
        }
        _ => Ok(()),
    }
}

/// Checks what an operator says about the quota of a key or a customer.
pub(crate) fn check_quota_policy<E>(
    quota: Option<Credits>,
    period: Option<QuotaPeriod>,
) -> Result<(), Stop<E>> {
    match (quota, period) {
        (Some(quota), _) if quota < Credits::ZERO => {
            Err(malformed("quota", format!("expected zero or more, not {quota}")))
        }
        (None, Some(period)) => {
            Err(malformed("quota_period", format!("expected none without a quota, not {period}")))
        }
        _ => Ok(()),
    }
}

fn malformed<E>(field: &'static str, problem: String) -> Stop<E> {
    Stop::Rejected(Rejection::malformed(field, problem))
}
