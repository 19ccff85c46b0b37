//! Rows whose time is over, read before they are forgotten: housekeeping asks for them, and forgets them by commands.

use gatehouse_model::{DeliveryId, Key, UnixMs};
use gatehouse_tasks::{ExpiredRow, ExpiredRows, Hold, HoldId, WebhookDelivery, is_old};
use redb::{ReadTransaction, ReadableTable as _};

use crate::error::StoreError;
use crate::layout;
use crate::row::decode;
use crate::tables::find;

/// Of each kind the oldest, at most so many.
pub(crate) fn expired(txn: &ReadTransaction, now: UnixMs, limit: usize) -> Result<ExpiredRows, StoreError> {
    let mut rows = ExpiredRows::new();
    holds(txn, now, limit, &mut rows)?;
    idempotency(txn, now, limit, &mut rows)?;
    let end = now.0.saturating_add(1);
    for row in txn.open_table(layout::ADMIN_IDEMPOTENCY_EXPIRY)?.range(..(end, [0; 32]))?.take(limit) {
        let token = gatehouse_model::Digest(row?.0.value().1);
        rows.push((None, ExpiredRow::AdminIdempotency(token)));
    }
    for row in txn.open_table(layout::RESPONSE_EXPIRY)?.range(..(end, "", ""))?.take(limit) {
        let row = row?;
        let (_, customer, id) = row.0.value();
        rows.push((Some(customer.into()), ExpiredRow::Response(id.to_owned())));
    }
    deliveries(txn, now, limit, &mut rows)?;
    Ok(rows)
}

fn holds(txn: &ReadTransaction, now: UnixMs, limit: usize, rows: &mut ExpiredRows) -> Result<(), StoreError> {
    let (expiry, holds) = (txn.open_table(layout::HOLD_EXPIRY)?, txn.open_table(layout::HOLDS)?);
    for row in expiry.range(..=(now.0, [u8::MAX; 17]))?.take(limit) {
        let hold: Option<Hold> = find("holds", &holds, row?.0.value().1)?;
        if let Some(Hold { id: HoldId::Request(id), customer, .. }) = hold {
            rows.push((Some(customer), ExpiredRow::Hold(id)));
        }
    }
    Ok(())
}

fn idempotency(
    txn: &ReadTransaction,
    now: UnixMs,
    limit: usize,
    rows: &mut ExpiredRows,
) -> Result<(), StoreError> {
    let (expiry, keys) = (txn.open_table(layout::IDEMPOTENCY_EXPIRY)?, txn.open_table(layout::KEYS)?);
    for row in expiry.range(..(now.0.saturating_add(1), "", [0; 32]))?.take(limit) {
        let row = row?;
        let (_, key, token) = row.0.value();
        let owner: Option<Key> = find("keys", &keys, key)?;
        let row = ExpiredRow::Idempotency { key: key.into(), token: gatehouse_model::Digest(token) };
        rows.extend(owner.map(|owner| (Some(owner.customer), row)));
    }
    Ok(())
}

/// Ids begin with the moment, so the oldest are the first.
fn deliveries(
    txn: &ReadTransaction,
    now: UnixMs,
    limit: usize,
    rows: &mut ExpiredRows,
) -> Result<(), StoreError> {
    for row in txn.open_table(layout::DELIVERIES)?.iter()?.take(limit) {
        let (id, row) = row?;
        if !is_old(DeliveryId::from_bits(id.value()), now) {
            break;
        }
        let delivery: WebhookDelivery = decode("deliveries", row.value())?;
        rows.push((Some(delivery.customer), ExpiredRow::Delivery(delivery.id)));
    }
    Ok(())
}
