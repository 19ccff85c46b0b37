//! What a commit writes: each row by its key, and what finds it otherwise. Tables are opened only where rows of theirs change, so
//! that no other commit pays for them.

use std::mem;

use gatehouse_model::{Customer, Key};
use gatehouse_tasks::{
    AdminIdempotencyRecord, Hold, HoldId, IdempotencyRecord, Kind, NameRecord, ResponseRecord,
    ResponseTotals, Row, RowChange, RowKey, WebhookDelivery, WebhookEndpoint,
};
use redb::{Key as RedbKey, Table, TableDefinition, TableHandle as _, WriteTransaction};

use crate::engine::{ledger, tasks, usage};
use crate::error::StoreError;
use crate::layout::{self, ALL_DELIVERIES, PENDING_DELIVERIES, Row as Bytes};
use crate::row::encode;

/// Writes them all, in the order of their keys.
pub(crate) fn write(txn: &WriteTransaction, changes: &[RowChange]) -> Result<(), StoreError> {
    for group in changes.chunk_by(|one, other| mem::discriminant(&one.key) == mem::discriminant(&other.key)) {
        match &group[0].key {
            RowKey::AdminIdempotency(_) => admin_idempotency(txn, group)?,
            RowKey::Audit(_) => numbered(txn, layout::AUDIT, group)?,
            RowKey::Customer(_) => customers(txn, group)?,
            RowKey::Delivery(_) => deliveries(txn, group)?,
            RowKey::Deployment(_) => numbered(txn, layout::DEPLOYMENTS, group)?,
            RowKey::Entry(_) => ledger::write(txn, group)?,
            RowKey::Hold(_) => holds(txn, group)?,
            RowKey::Idempotency(..) => idempotency(txn, group)?,
            RowKey::Key(_) => keys(txn, group)?,
            RowKey::Name(_) => names(txn, group)?,
            RowKey::PriceBook(_) => numbered(txn, layout::PRICE_BOOKS, group)?,
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
    for table in txn.list_tables()?.collect::<Vec<_>>() {
        let of = layout::history_day(&table).or_else(|| layout::task_index_day(&table));
        if of.or_else(|| layout::steps_day(&table)).is_some_and(|of| of < day) {
            txn.delete_table(table)?;
        }
    }
    Ok(())
}

/// What a change makes of a row.
pub(crate) fn sides<T: Kind>(change: &RowChange) -> (Option<&T>, Option<&T>) {
    (change.before.as_ref().and_then(T::of), change.after.as_ref().and_then(T::of))
}

/// Writes a row, or takes it out.
pub(crate) fn put<'key, K: RedbKey + 'static>(
    table: &mut Table<'_, K, Bytes>,
    key: K::SelfType<'key>,
    row: Option<&Row>,
) -> Result<(), StoreError> {
    match row {
        Some(row) => {
            let bytes = encode(table.name(), row)?;
            table.insert(key, bytes.as_slice())?;
        }
        None => drop(table.remove(key)?),
    }
    Ok(())
}

/// Lists a row where it now belongs instead of where it did.
pub(crate) fn list<'key, K: RedbKey + 'static>(
    table: &mut Table<'_, K, ()>,
    before: Option<K::SelfType<'key>>,
    after: Option<K::SelfType<'key>>,
) -> Result<(), StoreError>
where
    K::SelfType<'key>: PartialEq,
{
    if before == after {
        return Ok(());
    }
    if let Some(before) = before {
        table.remove(before)?;
    }
    if let Some(after) = after {
        table.insert(after, ())?;
    }
    Ok(())
}

fn admin_idempotency(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::ADMIN_IDEMPOTENCY)?;
    let mut expiry = txn.open_table(layout::ADMIN_IDEMPOTENCY_EXPIRY)?;
    for change in group {
        let RowKey::AdminIdempotency(token) = &change.key else { continue };
        put(&mut rows, token.0, change.after.as_ref())?;
        let (before, after) = sides::<AdminIdempotencyRecord>(change);
        let of = |row: &AdminIdempotencyRecord| (row.expires.0, row.token.0);
        list(&mut expiry, before.map(of), after.map(of))?;
    }
    Ok(())
}

fn customers(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::CUSTOMERS)?;
    for change in group {
        let RowKey::Customer(id) = &change.key else { continue };
        put(&mut rows, id.0.as_str(), change.after.as_ref())?;
        let (before, after) = sides::<Customer>(change);
        let without = |row: &Customer| (!row.has_credit()).then_some(id.0.as_str());
        let (before, after) = (before.and_then(without), after.and_then(without));
        if before != after {
            list(&mut txn.open_table(layout::WITHOUT_CREDIT)?, before, after)?;
        }
    }
    Ok(())
}

fn deliveries(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::DELIVERIES)?;
    let mut index = txn.open_table(layout::DELIVERY_INDEX)?;
    let mut dues = txn.open_table(layout::DELIVERY_DUE)?;
    for change in group {
        let RowKey::Delivery(id) = &change.key else { continue };
        put(&mut rows, id.bits(), change.after.as_ref())?;
        let (before, after) = sides::<WebhookDelivery>(change);
        let all = |row: &WebhookDelivery| (row.webhook.bits(), ALL_DELIVERIES, id.bits());
        list(&mut index, before.map(all), after.map(all))?;
        let pending =
            |row: &WebhookDelivery| row.due().map(|_| (row.webhook.bits(), PENDING_DELIVERIES, id.bits()));
        list(&mut index, before.and_then(pending), after.and_then(pending))?;
        let due = |row: &WebhookDelivery| row.due().map(|due| (row.webhook.bits(), due.0, id.bits()));
        list(&mut dues, before.and_then(due), after.and_then(due))?;
    }
    Ok(())
}

fn holds(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::HOLDS)?;
    let mut expiry = txn.open_table(layout::HOLD_EXPIRY)?;
    for change in group {
        let RowKey::Hold(id) = &change.key else { continue };
        let key = layout::hold_key(*id);
        put(&mut rows, key, change.after.as_ref())?;
        let (before, after) = sides::<Hold>(change);
        // A task's hold ends with its task.
        let of = |row: &Hold| matches!(id, HoldId::Request(_)).then_some((row.expires.0, key));
        list(&mut expiry, before.and_then(of), after.and_then(of))?;
    }
    Ok(())
}

fn idempotency(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::IDEMPOTENCY)?;
    let mut expiry = txn.open_table(layout::IDEMPOTENCY_EXPIRY)?;
    for change in group {
        let RowKey::Idempotency(key, token) = &change.key else { continue };
        put(&mut rows, (key.0.as_str(), token.0), change.after.as_ref())?;
        let (before, after) = sides::<IdempotencyRecord>(change);
        let of = |row: &IdempotencyRecord| (row.expires.0, key.0.as_str(), token.0);
        list(&mut expiry, before.map(of), after.map(of))?;
    }
    Ok(())
}

fn keys(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::KEYS)?;
    for change in group {
        let RowKey::Key(id) = &change.key else { continue };
        put(&mut rows, id.0.as_str(), change.after.as_ref())?;
        // A key's digest never changes.
        if let (None, Some(key)) = sides::<Key>(change) {
            txn.open_table(layout::KEY_DIGESTS)?.insert(key.digest.0.0, id.0.as_str())?;
        }
    }
    Ok(())
}

fn names(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::NAMES)?;
    let mut owners = txn.open_table(layout::NAME_OWNERS)?;
    for change in group {
        // A name stays its customer's.
        let (_, Some(NameRecord { customer, claim, .. })) = sides::<NameRecord>(change) else { continue };
        put(&mut rows, (customer.0.as_str(), claim.name.as_str()), change.after.as_ref())?;
        owners.insert(claim.name.as_str(), customer.0.as_str())?;
    }
    Ok(())
}

fn numbered(
    txn: &WriteTransaction,
    table: TableDefinition<'_, u64, Bytes>,
    group: &[RowChange],
) -> Result<(), StoreError> {
    let mut rows = txn.open_table(table)?;
    for change in group {
        if let RowKey::Audit(number) | RowKey::Deployment(number) | RowKey::PriceBook(number) = &change.key {
            put(&mut rows, *number, change.after.as_ref())?;
        }
    }
    Ok(())
}

fn responses(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::RESPONSES)?;
    let mut ages = txn.open_table(layout::RESPONSE_AGES)?;
    let mut expiry = txn.open_table(layout::RESPONSE_EXPIRY)?;
    let mut items = txn.open_table(layout::RESPONSE_ITEMS)?;
    for change in group {
        let RowKey::Response(customer, id) = &change.key else { continue };
        let (customer, id) = (customer.0.as_str(), id.as_str());
        put(&mut rows, (customer, id), change.after.as_ref())?;
        let (before, after) = sides::<ResponseRecord>(change);
        let age = |row: &ResponseRecord| (customer, row.kept.0, id);
        list(&mut ages, before.map(age), after.map(age))?;
        let end = |row: &ResponseRecord| (row.expires.0, customer, id);
        list(&mut expiry, before.map(end), after.map(end))?;
        for item in before.iter().flat_map(|row| &row.items) {
            items.remove((customer, item.as_str()))?;
        }
        for item in after.iter().flat_map(|row| &row.items) {
            items.insert((customer, item.as_str()), id)?;
        }
    }
    Ok(())
}

fn response_totals(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::RESPONSE_TOTALS)?;
    for change in group {
        let RowKey::ResponseTotals(customer) = &change.key else { continue };
        match sides::<ResponseTotals>(change).1 {
            Some(totals) => drop(rows.insert(customer.0.as_str(), (totals.count, totals.bytes))?),
            None => drop(rows.remove(customer.0.as_str())?),
        }
    }
    Ok(())
}

fn webhooks(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut rows = txn.open_table(layout::WEBHOOKS)?;
    let mut owners = txn.open_table(layout::WEBHOOK_OWNERS)?;
    let mut troubled = txn.open_table(layout::TROUBLED_WEBHOOKS)?;
    for change in group {
        let RowKey::Webhook(id) = &change.key else { continue };
        put(&mut rows, id.bits(), change.after.as_ref())?;
        let (before, after) = sides::<WebhookEndpoint>(change);
        let owner = before.or(after).map(|row| row.customer.0.as_str());
        let owner = owner.map(|customer| (customer, id.bits()));
        list(&mut owners, owner.filter(|_| before.is_some()), owner.filter(|_| after.is_some()))?;
        let trouble = |row: &WebhookEndpoint| row.is_troubled().then_some(id.bits());
        list(&mut troubled, before.and_then(trouble), after.and_then(trouble))?;
    }
    Ok(())
}
