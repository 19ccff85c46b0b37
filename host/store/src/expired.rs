//! Rows whose time is over, read before they are forgotten: housekeeping asks for them, and forgets them by commands.

use gatehouse_model::{CustomerId, DeliveryId, Digest, KeyId, UnixMs};
use gatehouse_tasks::{ExpiredRow, ExpiredRows, Hold, HoldId, is_old};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout;

/// Of each kind the oldest, at most so many.
pub(crate) fn expired(txn: &ReadTransaction, now: UnixMs, limit: usize) -> Result<ExpiredRows, StoreError> {
    let mut rows = ExpiredRows::new();
    holds(txn, now, limit, &mut rows)?;
    idempotency(txn, now, limit, &mut rows)?;
    let end = now.0.saturating_add(1);
    for row in layout::ADMIN_IDEMPOTENCY_EXPIRY.open(txn)?.range(..(end, [0; 32]))?.take(limit) {
        let token = Digest(row?.key()?.1);
        rows.push((None, ExpiredRow::AdminIdempotency(token)));
    }
    for row in layout::RESPONSE_EXPIRY.open(txn)?.range(..(end, "", ""))?.take(limit) {
        let (_, customer, id) = row?.key()?;
        rows.push((Some(CustomerId(customer)), ExpiredRow::Response(id)));
    }
    deliveries(txn, now, limit, &mut rows)?;
    Ok(rows)
}

fn holds(txn: &ReadTransaction, now: UnixMs, limit: usize, rows: &mut ExpiredRows) -> Result<(), StoreError> {
    let (expiry, holds) = (layout::HOLD_EXPIRY.open(txn)?, layout::HOLDS.open(txn)?);
    for row in expiry.range(..=(now.0, (u8::MAX, u128::MAX)))?.take(limit) {
        let hold = holds.get(row?.key()?.1)?;
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
    let (expiry, keys) = (layout::IDEMPOTENCY_EXPIRY.open(txn)?, layout::KEYS.open(txn)?);
    for row in expiry.range(..(now.0.saturating_add(1), "", [0; 32]))?.take(limit) {
        let (_, key, token) = row?.key()?;
        let owner = keys.get(&key)?;
        let row = ExpiredRow::Idempotency { key: KeyId(key), token: Digest(token) };
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
    for row in layout::DELIVERIES.open(txn)?.range(..)?.take(limit) {
        let row = row?;
        if !is_old(DeliveryId::from_bits(row.key()?), now) {
            break;
        }
        let delivery = row.row()?;
        rows.push((Some(delivery.customer), ExpiredRow::Delivery(delivery.id)));
    }
    Ok(())
}
