//! The rules of forgetting: expired idempotency keys, expired holds of requests, old history.

use gatehouse_model::{UnixMs, Usage};

use crate::commands::command::Applied;
use crate::commands::funds::resolution;
use crate::commands::ruling::{Ruling, Stop};
use crate::storage::ledger_storage::LedgerStorage;

pub(crate) fn idempotency_records<B: LedgerStorage>(
    storage: &mut B,
    now: UnixMs,
    limit: usize,
) -> Ruling<Applied, B> {
    let expired = storage.expired_idempotency_records(now, limit)?;
    for idempotency_record in &expired {
        storage.remove_idempotency_record(idempotency_record)?;
    }
    let requests = storage.expired_admin_idempotency_records(now, limit - expired.len())?;
    for record in &requests {
        storage.remove_admin_idempotency_record(record)?;
    }
    let removed = expired.len() + requests.len();
    Ok(Applied::Swept { removed, more: removed > 0 && removed == limit })
}

pub(crate) fn holds<B: LedgerStorage>(storage: &mut B, now: UnixMs, limit: usize) -> Ruling<Applied, B> {
    let expired = storage.expired_holds(now, limit)?;
    let mut removed = 0;
    for hold in &expired {
        match resolution(storage, hold, None, "", now) {
            Ok(resolution) => {
                resolution.write(storage, hold.model.as_deref().unwrap_or_default(), Usage::default())?;
            }
            // Only a damaged storage rejects a release (its customer or key is gone). Money is not moved on a guess:
            // the hold stays for the doctor to find, and the others are released.
            Err(Stop::Rejected(_)) => continue,
            Err(broken) => return Err(broken),
        }
        storage.remove_hold(hold)?;
        removed += 1;
    }
    Ok(Applied::Swept { removed, more: removed > 0 && expired.len() == limit })
}

pub(crate) fn drop_history<B: LedgerStorage>(storage: &mut B, before_day: u32) -> Ruling<Applied, B> {
    // A live task is listed in the day of its creation and will end there, so that day is still needed.
    let needed = storage.oldest_live()?.map_or(u32::MAX, |task| task.timestamp().day());
    Ok(Applied::Dropped(storage.drop_history(before_day.min(needed))?))
}
