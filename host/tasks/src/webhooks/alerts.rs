//! What a customer's webhooks are told of its money: that its balance is low, that its quota is used up to a share. Decided by
//! the rule that moves the money, in its commit, so that each crossing is told once, whatever crashes.
//!
//! The balance is what is unspent, held or not: a hold that is given back crosses nothing. A share of the quota is told once in
//! each period, and again after an edit.

use gatehouse_model::{Credits, Customer, UnixMs};

use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::deliveries;
use crate::webhooks::payload;
use crate::webhooks::record::WebhookEvent;

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
    if let (Some(percent), Some(quota)) = (after.quota_alert, after.quota_use(at)) {
        let period = quota.resets.unwrap_or(UnixMs(0));
        let is_reached = i128::from(quota.used.0) * 100 >= i128::from(quota.limit.0) * i128::from(percent);
        if is_reached && after.quota_told != Some(period) {
            after.quota_told = Some(period);
            due.push(WebhookEvent::QuotaReached);
        }
    }
    due
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
        deliveries::customer_event(storage, customer, (*event, &body), at)?;
    }
    Ok(())
}

fn is_low(customer: &Customer) -> bool {
    let unspent = customer.available.checked_add(customer.reserved).unwrap_or(Credits(i64::MAX));
    customer.low_balance.is_some_and(|limit| unspent < limit)
}
