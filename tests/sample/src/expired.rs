//! The rows of a storage in memory whose time is over, found by a look at every row: what a store's own look-ups must agree with.

use gatehouse_model::{CustomerId, UnixMs};
use gatehouse_tasks::{ExpiredRow, ExpiredRows, HoldId, MemoryLedgerStorage, is_old};

/// Those rows, the oldest first, and then deliveries.
#[must_use]
pub fn expired(storage: &MemoryLedgerStorage, now: UnixMs) -> ExpiredRows {
    let mut rows: Vec<(UnixMs, Option<CustomerId>, ExpiredRow)> = Vec::new();
    for hold in storage.holds() {
        if let HoldId::Request(id) = hold.id {
            rows.push((hold.expires, Some(hold.customer.clone()), ExpiredRow::Hold(id)));
        }
    }
    for row in storage.idempotency_records() {
        let customer = storage.keys().find(|key| key.id == row.key).map(|key| key.customer.clone());
        let (key, token) = (row.key.clone(), row.token);
        rows.push((row.expires, customer, ExpiredRow::Idempotency { key, token }));
    }
    for row in storage.admin_idempotency_records() {
        rows.push((row.expires, None, ExpiredRow::AdminIdempotency(row.token)));
    }
    for row in storage.responses() {
        rows.push((row.expires, Some(row.customer.clone()), ExpiredRow::Response(row.id.clone())));
    }
    rows.retain(|(expires, ..)| *expires <= now);
    rows.sort_by_key(|(expires, ..)| *expires);
    let deliveries = storage.deliveries().filter(|row| is_old(row.id, now));
    let deliveries = deliveries.map(|row| (Some(row.customer.clone()), ExpiredRow::Delivery(row.id)));
    rows.into_iter().map(|(_, customer, row)| (customer, row)).chain(deliveries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_storage_has_none() {
        assert_eq!(expired(&MemoryLedgerStorage::default(), UnixMs(u64::MAX)), []);
    }
}
