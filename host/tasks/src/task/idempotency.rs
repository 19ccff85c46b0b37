//! Recognises a request that came before by its idempotency key.

use gatehouse_model::{TaskId, UnixMs};

use crate::commands::rejection::Rejection;
use crate::commands::request::Idempotency;
use crate::commands::ruling::{Ruling, Stop};
use crate::storage::ledger_storage::{IdempotencyRecord, LedgerStorage};

/// What is known of a request.
pub(crate) enum Known {
    /// It came before, for this task.
    Before(TaskId),
    /// It is new; an expired record of its key, if there is one, makes room for it.
    New(Option<IdempotencyRecord>),
}

/// Looks a request up. A repetition is answered before key and balance are checked: its receipt was given already.
pub(crate) fn look_up<B: LedgerStorage>(
    storage: &B,
    idempotency: Option<&Idempotency>,
    at: UnixMs,
) -> Ruling<Known, B> {
    let Some(idempotency) = idempotency else { return Ok(Known::New(None)) };
    match storage.idempotency_record(&idempotency.key, &idempotency.token)? {
        Some(known) if known.expires <= at => Ok(Known::New(Some(known))),
        Some(known) if known.fingerprint == idempotency.fingerprint => Ok(Known::Before(known.task)),
        Some(_) => Err(Stop::Rejected(Rejection::IdempotencyConflict)),
        None => Ok(Known::New(None)),
    }
}

/// Remembers an accepted request for its task.
pub(crate) fn remember<B: LedgerStorage>(
    storage: &mut B,
    expired: Option<IdempotencyRecord>,
    idempotency: Option<Idempotency>,
    task: TaskId,
) -> Result<(), B::Error> {
    if let Some(expired) = expired {
        storage.remove_idempotency_record(&expired)?;
    }
    let Some(Idempotency { key, token, fingerprint, expires }) = idempotency else { return Ok(()) };
    storage.put_idempotency_record(&IdempotencyRecord { key, token, fingerprint, task, expires })
}
