//! Keeping responses, and forgetting them: on request, after their time, and the oldest of a customer that keeps too many.

use gatehouse_model::{CustomerId, UnixMs};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::records::response::{ResponseLimits, ResponseRecord};
use crate::storage::ledger_storage::LedgerStorage;

pub(crate) fn keep<B: LedgerStorage>(
    storage: &mut B,
    record: &ResponseRecord,
    limits: ResponseLimits,
) -> Ruling<Applied, B> {
    if limits.count == 0 || record.size() > limits.bytes {
        let problem = format!("{} bytes, at most {} may be kept", record.size(), limits.bytes);
        return Err(Stop::Rejected(Rejection::Malformed { field: "response", problem }));
    }
    if let Some(before) = storage.response(&record.customer, &record.id)? {
        storage.remove_response(&before)?;
    }
    loop {
        let after = storage.response_totals(&record.customer)?.with(record);
        if after.count <= limits.count && after.bytes <= limits.bytes {
            break;
        }
        let Some(oldest) = storage.oldest_response(&record.customer)? else { break };
        storage.remove_response(&oldest)?;
    }
    storage.put_response(record)?;
    Ok(Applied::Done)
}

/// Whether it was there: one that has expired was gone before.
pub(crate) fn forget<B: LedgerStorage>(
    storage: &mut B,
    customer: &CustomerId,
    id: &str,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let Some(record) = storage.response(customer, id)? else { return Ok(Applied::Forgotten(0)) };
    storage.remove_response(&record)?;
    Ok(Applied::Forgotten(usize::from(record.expires > at)))
}
