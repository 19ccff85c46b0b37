//! What a commit writes: each row by its key, and what finds it otherwise. Tables are opened only where rows of theirs change, so
//! that no other commit pays for them.

use std::mem;

use gatehouse_model::{Customer, Key};
use gatehouse_tasks::{
    AdminIdempotencyRecord, Hold, HoldId, IdempotencyRecord, Kind, NameRecord, ResponseRecord, RowChange,
    RowKey, WebhookDelivery, WebhookEndpoint,
};
use redb::WriteTransaction;

use crate::engine::{ledger, tasks, usage};
use crate::error::StoreError;
use crate::layout::{self, ALL_DELIVERIES, PENDING_DELIVERIES};
use crate::table::Table;

/// Writes them all, in the order of their keys.
pub(crate) fn write(txn: &WriteTransaction, changes: &[RowChange]) -> Result<(), StoreError> {
    for group in changes.chunk_by(|one, other| mem::discriminant(&one.key) == mem::discriminant(&other.key)) {
        match &group[0].key {
            RowKey::AdminIdempotency(_) => admin_idempotency(txn, group)?,
            RowKey::Audit(_) => numbered(txn, &layout::AUDIT, group)?,
            RowKey::Customer(_) => customers(txn, group)?,
            RowKey::Delivery(_) => deliveries(txn, group)?,
            RowKey::Deployment(_) => numbered(txn, &layout::DEPLOYMENTS, group)?,
            RowKey::Entry(_) => ledger::write(txn, group)?,
            RowKey::Hold(_) => holds(txn, group)?,
            RowKey::Idempotency(..) => idempotency(txn, group)?,
            RowKey::Key(_) => keys(txn, group)?,
            RowKey::Name(_) => names(txn, group)?,
            RowKey::PriceBook(_) => numbered(txn, &layout::PRICE_BOOKS, group)?,
            RowKey::Response(..) => responses(txn, group)?,
            RowKey::ResponseTotals(_) => response_totals(txn, group)?,
            RowKey::Steps(..) => tasks::write_steps(txn, group)?,
            RowKey::Task(_) => tasks::write(txn, group)?,
            RowKey::Usage(_) => usage::write(txn, group)?,
            RowKey::Webhook(_) => webhooks(txn, group)?,
            // Their tables say so themselves, or follow from the rows.
            RowKey::KeyDigest(_) | RowKey::Newest(_) | RowKey::StepCount(_) | RowKey::WebhooksOf(_) => {}
        }
    }
    Ok(())
}

/// Drops the tables of all days before `day`: ended tasks, the index of tasks, their logs.
pub(crate) fn drop_days(txn: &WriteTransaction, day: u32) -> Result<(), StoreError> {
    if day == 0 {
        return Ok(());
    }
    layout::HISTORY.drop_before(txn, day)?;
    layout::TASK_INDEX.drop_before(txn, day)?;
    layout::STEPS.drop_before(txn, day)
}

/// What a change makes of a row.
pub(crate) fn sides<T: Kind>(change: &RowChange) -> (Option<&T>, Option<&T>) {
    (change.before.as_ref().and_then(T::of), change.after.as_ref().and_then(T::of))
}

fn admin_idempotency(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::ADMIN_IDEMPOTENCY.open_to_write(txn)?;
    let mut expiry = layout::ADMIN_IDEMPOTENCY_EXPIRY.open_to_write(txn)?;
    for change in group {
        let RowKey::AdminIdempotency(token) = &change.key else { continue };
        rows.put(token.0, change.after.as_ref())?;
        let (before, after) = sides::<AdminIdempotencyRecord>(change);
        let of = |row: &AdminIdempotencyRecord| (row.expires.0, row.token.0);
        expiry.list(before.map(of), after.map(of))?;
    }
    Ok(())
}

fn customers(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::CUSTOMERS.open_to_write(txn)?;
    for change in group {
        let RowKey::Customer(id) = &change.key else { continue };
        rows.put(id.0.as_str(), change.after.as_ref())?;
        let (before, after) = sides::<Customer>(change);
        let without = |row: &Customer| (!row.has_credit()).then_some(id.0.as_str());
        let (before, after) = (before.and_then(without), after.and_then(without));
        if before != after {
            layout::WITHOUT_CREDIT.open_to_write(txn)?.list(before, after)?;
        }
    }
    Ok(())
}

fn deliveries(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::DELIVERIES.open_to_write(txn)?;
    let mut index = layout::DELIVERY_INDEX.open_to_write(txn)?;
    let mut dues = layout::DELIVERY_DUE.open_to_write(txn)?;
    for change in group {
        let RowKey::Delivery(id) = &change.key else { continue };
        rows.put(id.bits(), change.after.as_ref())?;
        let (before, after) = sides::<WebhookDelivery>(change);
        let all = |row: &WebhookDelivery| (row.webhook.bits(), ALL_DELIVERIES, id.bits());
        index.list(before.map(all), after.map(all))?;
        let pending =
            |row: &WebhookDelivery| row.due().map(|_| (row.webhook.bits(), PENDING_DELIVERIES, id.bits()));
        index.list(before.and_then(pending), after.and_then(pending))?;
        let due = |row: &WebhookDelivery| row.due().map(|due| (row.webhook.bits(), due.0, id.bits()));
        dues.list(before.and_then(due), after.and_then(due))?;
    }
    Ok(())
}

fn holds(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::HOLDS.open_to_write(txn)?;
    let mut expiry = layout::HOLD_EXPIRY.open_to_write(txn)?;
    for change in group {
        let RowKey::Hold(id) = &change.key else { continue };
        let key = layout::hold_key(*id);
        rows.put(key, change.after.as_ref())?;
        let (before, after) = sides::<Hold>(change);
        // A task's hold ends with its task.
        let of = |row: &Hold| matches!(id, HoldId::Request(_)).then_some((row.expires.0, key));
        expiry.list(before.and_then(of), after.and_then(of))?;
    }
    Ok(())
}

fn idempotency(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::IDEMPOTENCY.open_to_write(txn)?;
    let mut expiry = layout::IDEMPOTENCY_EXPIRY.open_to_write(txn)?;
    for change in group {
        let RowKey::Idempotency(key, token) = &change.key else { continue };
        rows.put((key.0.as_str(), token.0), change.after.as_ref())?;
        let (before, after) = sides::<IdempotencyRecord>(change);
        let of = |row: &IdempotencyRecord| (row.expires.0, key.0.as_str(), token.0);
        expiry.list(before.map(of), after.map(of))?;
    }
    Ok(())
}

fn keys(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::KEYS.open_to_write(txn)?;
    for change in group {
        let RowKey::Key(id) = &change.key else { continue };
        rows.put(id.0.as_str(), change.after.as_ref())?;
        // A key's digest never changes.
        if let (None, Some(key)) = sides::<Key>(change) {
            layout::KEY_DIGESTS.open_to_write(txn)?.insert(key.digest.0.0, &id.0)?;
        }
    }
    Ok(())
}

fn names(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::NAMES.open_to_write(txn)?;
    let mut owners = layout::NAME_OWNERS.open_to_write(txn)?;
    for change in group {
        // A name stays its customer's.
        let (_, Some(NameRecord { customer, claim, .. })) = sides::<NameRecord>(change) else { continue };
        rows.put((customer.0.as_str(), claim.name.as_str()), change.after.as_ref())?;
        owners.insert(&claim.name, &customer.0)?;
    }
    Ok(())
}

fn numbered<V>(txn: &WriteTransaction, table: &Table<u64, V>, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = table.open_to_write(txn)?;
    for change in group {
        if let RowKey::Audit(number) | RowKey::Deployment(number) | RowKey::PriceBook(number) = &change.key {
            rows.put(*number, change.after.as_ref())?;
        }
    }
    Ok(())
}

fn responses(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::RESPONSES.open_to_write(txn)?;
    let mut ages = layout::RESPONSE_AGES.open_to_write(txn)?;
    let mut expiry = layout::RESPONSE_EXPIRY.open_to_write(txn)?;
    let mut items = layout::RESPONSE_ITEMS.open_to_write(txn)?;
    for change in group {
        let RowKey::Response(customer, id) = &change.key else { continue };
        let customer = customer.0.as_str();
        rows.put((customer, id), change.after.as_ref())?;
        let (before, after) = sides::<ResponseRecord>(change);
        let age = |row: &ResponseRecord| (customer, row.kept.0, id.as_str());
        ages.list(before.map(age), after.map(age))?;
        let end = |row: &ResponseRecord| (row.expires.0, customer, id.as_str());
        expiry.list(before.map(end), after.map(end))?;
        for item in before.iter().flat_map(|row| &row.items) {
            items.remove((customer, item))?;
        }
        for item in after.iter().flat_map(|row| &row.items) {
            items.insert((customer, item), id)?;
        }
    }
    Ok(())
}

fn response_totals(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::RESPONSE_TOTALS.open_to_write(txn)?;
    for change in group {
        let RowKey::ResponseTotals(customer) = &change.key else { continue };
        rows.put(&customer.0, change.after.as_ref())?;
    }
    Ok(())
}

fn webhooks(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = layout::WEBHOOKS.open_to_write(txn)?;
    let mut owners = layout::WEBHOOK_OWNERS.open_to_write(txn)?;
    let mut troubled = layout::TROUBLED_WEBHOOKS.open_to_write(txn)?;
    for change in group {
        let RowKey::Webhook(id) = &change.key else { continue };
        rows.put(id.bits(), change.after.as_ref())?;
        let (before, after) = sides::<WebhookEndpoint>(change);
        let owner = before.or(after).map(|row| row.customer.0.as_str());
        let owner = owner.map(|customer| (customer, id.bits()));
        owners.list(owner.filter(|_| before.is_some()), owner.filter(|_| after.is_some()))?;
        let trouble = |row: &WebhookEndpoint| row.is_troubled().then_some(id.bits());
        troubled.list(before.and_then(trouble), after.and_then(trouble))?;
    }
    Ok(())
}
