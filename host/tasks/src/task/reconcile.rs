//! The rule of an operator's ruling about an ambiguous call: it is sent again, has a reply, or the task fails.
//!
//! Only a ruling or the end of the task leads away from an ambiguous call; no step does. So a call is sent again at most as
//! often as was ruled, and each time is on record.

use gatehouse_model::{Event, FailureKind, Phase, Reading, TaskFailure, TaskId, UnixMs};

use crate::commands::change::{Ending, Reconciliation};
use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::storage::ledger_storage::LedgerStorage;
use crate::task::advance::{append_audit_text, current};
use crate::task::finish;

/// The longest reason of a ruling, bytes.
pub const MAX_RULING_REASON: usize = 500;

pub(crate) fn reconcile<B: LedgerStorage>(
    storage: &mut B,
    id: TaskId,
    revision: Option<u64>,
    deadline: UnixMs,
    ruling: Reconciliation,
    reason: String,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if reason.trim().is_empty() || reason.len() > MAX_RULING_REASON {
        let problem = format!("expected 1 to {MAX_RULING_REASON} bytes of text, got {} bytes", reason.len());
        return Err(Stop::Rejected(Rejection::malformed("reason", problem)));
    }
    let present = storage.live(id)?.map_or(0, |task| task.revision);
    let revision = revision.unwrap_or(present);
    let mut task = current(storage, id, revision)?;
    let late = at >= deadline.max(task.deadline);
    let Phase::Ambiguous { call, at: begun, .. } = task.phase else {
        return Err(Stop::Rejected(Rejection::NotAmbiguous(id)));
    };
    if late {
        return Err(Stop::Rejected(Rejection::RulingTooLate(id)));
    }
    let text = format!(
        "ruled by an operator: ambiguous {} to {} begun at {begun}: {}: {reason}",
        call.method,
        call.provider,
        ruling.as_str(),
    );
    match ruling {
        Reconciliation::Fail => {
            let failure = TaskFailure { kind: FailureKind::Upstream, message: reason };
            return finish::finish(storage, id, revision, Ending::failed(failure), Some(text), at);
        }
        Reconciliation::Resend => task.phase = Phase::Call(call),
        Reconciliation::Adopt { .. } if call.reading == Reading::Saved => {
            return Err(Stop::Rejected(Rejection::NotAdoptable(id)));
        }
        Reconciliation::Adopt { reply, blobs } => {
            task.phase = Phase::Run(Event::Reply(reply));
            task.blobs.extend(blobs);
        }
    }
    storage.put_task(&task)?;
    append_audit_text(storage, id, Some(text), at)?;
    Ok(Applied::Task(Box::new(task)))
}
