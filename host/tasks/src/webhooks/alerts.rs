//! What a customer's webhooks are told of its money: that its balance is low, that its quota or a key's is used up to a share. Decided by
//! the rule that moves the money, in its commit, so that each crossing is told once, whatever crashes.
//!
//! The balance is what is unspent, held or not: a hold that is given back crosses nothing. A share of the quota is told once in
//! each period, and again after an edit.

use gatehouse_model::{Credits, Customer, Key, QuotaUse, UnixMs};

use crate::records::webhook::WebhookEvent;
use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::deliveries;
use crate::webhooks::payload;

/// What a movement of money crosses; `after` is about to be written. A customer without thresholds costs nothing.
pub(crate) fn of_movement<B: LedgerStorage>(
    storage: &B,
    after: &mut Customer,
    at: UnixMs,
) -> Result<Vec<WebhookEvent>, B::Error> {
    if after.low_balance.is_none() && after.quota_alert.is_none() {
        return Ok(Vec::new());
    }
    // The row, not what the movement began with: of several that are worked out together each one counts.
    Ok(storage.customer(&after.id)?.map_or_else(Vec::new, |before| due(&before, after, at)))
}

/// What lies between two states of a customer.
pub(crate) fn due(before: &Customer, after: &mut Customer, at: UnixMs) -> Vec<WebhookEvent> {
    let mut due = Vec::new();
    if is_low(after) && !is_low(before) {
        due.push(WebhookEvent::BalanceLow);
    }
    after.quota_told = before.quota_told;
    if let Some(period) = reached(after.quota_alert, after.quota_use(at))
        && after.quota_told != Some(period)
    {
        after.quota_told = Some(period);
        due.push(WebhookEvent::QuotaReached);
    }
    due
}

/// The reset of the period in which so many percent of a quota are used; the beginning of time for one that never resets.
fn reached(percent: Option<u8>, quota: Option<QuotaUse>) -> Option<UnixMs> {
    let (percent, quota) = (percent?, quota?);
    let is_reached = i128::from(quota.used.0) * 100 >= i128::from(quota.limit.0) * i128::from(percent);
    is_reached.then(|| quota.resets.unwrap_or(UnixMs(0)))
}

/// Whether a movement of money crosses the share of a key's quota; `after` is about to be written. A key without one costs
/// nothing.
pub(crate) fn of_key<B: LedgerStorage>(storage: &B, after: &mut Key, at: UnixMs) -> Result<bool, B::Error> {
    if after.quota_alert.is_none() {
        return Ok(false);
    }
    // The row, as for a customer.
    let told = storage.key(&after.id)?.and_then(|before| before.quota_told);
    Ok(key_due(told, after, at))
}

/// Whether the share of a key's quota is used and was not told; then it is from now on.
pub(crate) fn key_due(told: Option<UnixMs>, after: &mut Key, at: UnixMs) -> bool {
    let period = reached(after.quota_alert, after.quota_use(at));
    let is_due = period.is_some() && period != told;
    after.quota_told = if is_due { period } else { told };
    is_due
}

/// Writes a delivery of the event about a key's quota for every webhook of its customer that takes it.
pub(crate) fn tell_of_key<B: LedgerStorage>(
    storage: &mut B,
    customer: &Customer,
    key: &Key,
    at: UnixMs,
) -> Result<(), B::Error> {
    let body = payload::of_key_quota(key, at);
    deliveries::customer_event(storage, customer, Some(key), WebhookEvent::QuotaReached, &body, at)
}

/// Writes a delivery of each event for every webhook of the customer that takes it.
pub(crate) fn tell<B: LedgerStorage>(
    storage: &mut B,
    customer: &Customer,
    due: &[WebhookEvent],
    at: UnixMs,
) -> Result<(), B::Error> {
    for event in due {
        let body = match event {
            WebhookEvent::QuotaReached => payload::of_quota(customer, at),
            _ => payload::of_balance(customer, at),
        };
        deliveries::customer_event(storage, customer, None, *event, &body, at)?;
    }
    Ok(())
}

fn is_low(customer: &Customer) -> bool {
    let unspent = customer.available.checked_add(customer.reserved).unwrap_or(Credits(i64::MAX));
    customer.low_balance.is_some_and(|limit| unspent < limit)
}
