//! The live task a command is about, and its line in the audit record.

use gatehouse_model::{Task, TaskId, UnixMs};

use crate::commands::rejection::Rejection;
use crate::commands::ruling::{Ruling, Stop};
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};

/// The live task at that revision, already counted one further.
pub(crate) fn current<B: LedgerStorage>(storage: &B, id: TaskId, revision: u64) -> Ruling<Task, B> {
    let Some(mut task) = storage.live(id)? else {
        return Err(Stop::Rejected(match storage.finished(id)? {
            Some(over) => Rejection::Final(over.status),
            None => Rejection::NoTask(id),
        }));
    };
    if task.revision != revision {
        return Err(Stop::Rejected(Rejection::Stale { current: task.revision }));
    }
    task.revision = revision.checked_add(1).ok_or(Stop::Rejected(Rejection::Overflow))?;
    Ok(task)
}

pub(crate) fn append_audit_text<B: LedgerStorage>(
    storage: &mut B,
    task: TaskId,
    text: Option<String>,
    at: UnixMs,
) -> Result<(), B::Error> {
    text.map_or(Ok(()), |text| {
        storage.append_audit(&AuditRecord { at, task: Some(task), text, ..AuditRecord::default() })
    })
}
