//! Recognises a request that came before by its idempotency key.

use gatehouse_model::{TaskId, UnixMs};

use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::commands::request::Idempotency;
use crate::storage::ledger_storage::{IdempotencyRecord, LedgerStorage};

/// The task that a request made or joined when it came before. A repetition is answered before key and balance are checked: its
/// receipt was given already.
pub(crate) fn look_up<B: LedgerStorage>(
    storage: &B,
    idempotency: Option<&Idempotency>,
    at: UnixMs,
) -> Ruling<Option<TaskId>, B> {
    let Some(idempotency) = idempotency else { return Ok(None) };
    let record = storage.idempotency_record(&idempotency.key, &idempotency.token)?;
    let first = record.and_then(|record| idempotency.first_task(&record, at));
    first.transpose().map_err(Stop::Rejected)
}

impl Idempotency {
    /// What the record of its token says of a request: the task of the first one, if it is the same request. `None` once
    /// the record has expired.
    #[must_use]
    pub fn first_task(&self, record: &IdempotencyRecord, at: UnixMs) -> Option<Result<TaskId, Rejection>> {
        let is_same = record.fingerprint == self.fingerprint;
        let task = if is_same { Ok(record.task) } else { Err(Rejection::IdempotencyConflict) };
        (record.expires > at).then_some(task)
    }
}

/// Remembers an accepted request for its task, instead of an expired one of its token.
pub(crate) fn remember<B: LedgerStorage>(
    storage: &mut B,
    idempotency: Option<Idempotency>,
    task: TaskId,
) -> Result<(), B::Error> {
    let Some(Idempotency { key, token, fingerprint, expires }) = idempotency else { return Ok(()) };
    storage.put_idempotency_record(&IdempotencyRecord { key, token, fingerprint, task, expires })
}
