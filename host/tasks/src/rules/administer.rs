//! The rules of an operator's request: it is done once, its line in the audit record is written with it, and a request
//! that came before changes nothing.

use gatehouse_model::UnixMs;

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::records::administration::{AdminIdempotency, AdminIdempotencyRecord, AuditedRequest};
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};

/// What is remembered of a request that came before.
pub(crate) fn look_up<B: LedgerStorage>(
    storage: &B,
    idempotency: Option<&AdminIdempotency>,
    at: UnixMs,
) -> Ruling<Option<AdminIdempotencyRecord>, B> {
    let Some(idempotency) = idempotency else { return Ok(None) };
    let record = storage.admin_idempotency_record(&idempotency.token)?.filter(|record| record.expires > at);
    match record {
        Some(record) if record.fingerprint != idempotency.fingerprint => {
            Err(Stop::Rejected(Rejection::IdempotencyConflict))
        }
        record => Ok(record),
    }
}

/// Writes the audit line and remembers the request, once its change was applied. `change` is what became of it.
pub(crate) fn record<B: LedgerStorage>(
    storage: &mut B,
    idempotency: Option<AdminIdempotency>,
    audit: AuditedRequest,
    change: Option<Box<Applied>>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    append(storage, audit, at)?;
    let entry = match change.as_deref() {
        Some(Applied::Deposited { position, .. }) => Some(*position),
        _ => None,
    };
    let Some(AdminIdempotency { token, fingerprint, object, expires }) = idempotency else {
        return Ok(Applied::Administered { object: String::new(), entry, repeated: false, change });
    };
    let record = AdminIdempotencyRecord { token, fingerprint, object, entry, expires };
    storage.put_admin_idempotency_record(&record)?;
    Ok(Applied::Administered { object: record.object, entry, repeated: false, change })
}

/// Answers a request that came before. Its line says that nothing was changed, and names what the first one made: the sender
/// has thought of another id for it by now.
pub(crate) fn repeat<B: LedgerStorage>(
    storage: &mut B,
    record: AdminIdempotencyRecord,
    audit: AuditedRequest,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let reason = "a repetition, nothing was changed".to_owned();
    let object = match audit.object.rsplit_once('/') {
        Some((kind, _)) => format!("{kind}/{}", record.object),
        None => record.object.clone(),
    };
    append(storage, AuditedRequest { object, reason, changes: Vec::new(), ..audit }, at)?;
    Ok(Applied::Administered { object: record.object, entry: record.entry, repeated: true, change: None })
}

fn append<B: LedgerStorage>(storage: &mut B, request: AuditedRequest, at: UnixMs) -> Result<(), B::Error> {
    let text = request.text();
    storage.append_audit(&AuditRecord { at, text, request: Some(request), ..AuditRecord::default() })
}
