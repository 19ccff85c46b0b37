//! The rules of forgetting: rows of one customer whose time is over.

use gatehouse_model::{CustomerId, UnixMs, Usage};

use crate::commands::command::Applied;
use crate::commands::expired_row::ExpiredRow;
use crate::commands::rejection::{Ruling, Stop};
use crate::records::hold::HoldId;
use crate::records::journal_entry::Note;
use crate::rules::funds::resolution;
use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::deliveries;

pub(crate) fn expired<B: LedgerStorage>(
    storage: &mut B,
    customer: Option<&CustomerId>,
    rows: Vec<ExpiredRow>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let mut forgotten = 0;
    for row in rows {
        forgotten += usize::from(forget(storage, customer, row, at)?);
    }
    Ok(Applied::Forgotten(forgotten))
}

/// Whether the row was there, the customer's, and its time was over.
fn forget<B: LedgerStorage>(
    storage: &mut B,
    customer: Option<&CustomerId>,
    row: ExpiredRow,
    at: UnixMs,
) -> Ruling<bool, B> {
    match (customer, row) {
        (None, ExpiredRow::AdminIdempotency(token)) => {
            let expired = storage.admin_idempotency_record(&token)?.filter(|row| row.expires <= at);
            expired.iter().try_for_each(|row| storage.remove_admin_idempotency_record(row))?;
            Ok(expired.is_some())
        }
        (Some(customer), ExpiredRow::Delivery(id)) => Ok(deliveries::forget(storage, customer, id, at)?),
        (Some(customer), ExpiredRow::Hold(id)) => release(storage, customer, HoldId::Request(id), at),
        (Some(customer), ExpiredRow::Idempotency { key, token }) => {
            let is_its_own = storage.key(&key)?.is_some_and(|key| key.customer == *customer);
            let found = storage.idempotency_record(&key, &token)?;
            let expired = found.filter(|row| is_its_own && row.expires <= at);
            expired.iter().try_for_each(|row| storage.remove_idempotency_record(row))?;
            Ok(expired.is_some())
        }
        (Some(customer), ExpiredRow::Response(id)) => {
            let expired = storage.response(customer, &id)?.filter(|row| row.expires <= at);
            expired.iter().try_for_each(|row| storage.remove_response(row))?;
            Ok(expired.is_some())
        }
        (None, _) | (Some(_), ExpiredRow::AdminIdempotency(_)) => Ok(false),
    }
}

fn release<B: LedgerStorage>(
    storage: &mut B,
    customer: &CustomerId,
    id: HoldId,
    at: UnixMs,
) -> Ruling<bool, B> {
    let Some(hold) = storage.hold(id)?.filter(|hold| hold.customer == *customer && hold.expires <= at) else {
        return Ok(false);
    };
    match resolution(storage, &hold, None, &Note::default(), at) {
        Ok(resolution) => {
            resolution.write(storage, &hold.model, Usage::default())?;
        }
        // Only a damaged storage rejects a release (its customer or key is gone). Money is not moved on a guess: the hold stays
        // for the doctor to find, and the others are released.
        Err(Stop::Rejected(_)) => return Ok(false),
        Err(broken) => return Err(broken),
    }
    storage.remove_hold(&hold)?;
    Ok(true)
}
