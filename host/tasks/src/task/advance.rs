//! The rules of a task's movement and end.
//!
//! ```text
//! submitted -> pending -> processing -> completed | failed      only to the right, any step may be skipped
//! ```
//! Every change names the revision it is based on; the second of two changes is rejected with the present revision and
//! changes nothing. So overlapping polls, a timeout and a cancel cannot end a task, or its hold, twice.

use gatehouse_model::{Credits, Phase, Status, Task, TaskId, UnixMs};

use crate::commands::command::{Applied, Change, Ending};
use crate::commands::funds::resolution;
use crate::commands::rejection::Rejection;
use crate::commands::ruling::{Ruling, Stop};
use crate::ledger::hold::HoldId;
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};

pub(crate) fn advance<B: LedgerStorage>(
    storage: &mut B,
    id: TaskId,
    revision: u64,
    change: Change,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if change.status.is_final() || matches!(change.phase, Phase::Over) {
        let problem = format!("expected a task that goes on, not {}", change.status.as_str());
        return Err(Stop::Rejected(Rejection::malformed("change.status", problem)));
    }
    let mut task = current(storage, id, revision)?;
    // A provider may report less than it did before; the client must not see it.
    task.status = task.status.max(change.status);
    task.progress = task.progress.max(change.progress.min(100));
    task.phase = change.phase;
    if let Some((version, state)) = change.state {
        task.state_version = version;
        task.state = state;
    }
    task.digest = change.digest.unwrap_or(task.digest);
    task.assignment = change.assignment.or(task.assignment);
    task.blobs = change.blobs.unwrap_or(task.blobs);
    storage.put_live(&task)?;
    append_audit_text(storage, id, change.audit, at)?;
    Ok(Applied::Task(Box::new(task)))
}

pub(crate) fn finish<B: LedgerStorage>(
    storage: &mut B,
    id: TaskId,
    revision: u64,
    ending: Ending,
    audit: Option<String>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let mut task = current(storage, id, revision)?;
    let held = HoldId::Task(id);
    let hold = storage.hold(held)?.ok_or(Stop::Rejected(Rejection::NoHold(held)))?;
    let settled = end(&mut task, ending, at);
    let entry = resolution(storage, &hold, settled, String::new(), at)?;

    entry.write(storage)?;
    storage.remove_hold(&hold)?;
    storage.put_finished(&task)?;
    append_audit_text(storage, id, audit, at)?;
    Ok(Applied::Task(Box::new(task)))
}

pub(crate) fn audit<B: LedgerStorage>(
    storage: &mut B,
    task: Option<TaskId>,
    text: String,
    at: UnixMs,
) -> Ruling<Applied, B> {
    storage.append_audit(&AuditRecord { at, task, text })?;
    Ok(Applied::Done)
}

/// Writes the end into the task's record; what is to be settled, if anything.
fn end(task: &mut Task, ending: Ending, at: UnixMs) -> Option<Credits> {
    let settled = match ending {
        Ending::Completed { public, private, media, cost } => {
            task.status = Status::Completed;
            task.progress = 100;
            (task.public, task.private, task.media) = (public, private, media);
            task.failure = None;
            Some(cost)
        }
        Ending::Failed(fault) => {
            task.status = Status::Failed;
            task.failure = Some(fault);
            None
        }
    };
    task.cost = Some(settled.unwrap_or(Credits::ZERO));
    task.finished = Some(at);
    task.phase = Phase::Over;
    task.state = Vec::new();
    settled
}

/// The live task at that revision, already counted one further.
fn current<B: LedgerStorage>(storage: &B, id: TaskId, revision: u64) -> Ruling<Task, B> {
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

fn append_audit_text<B: LedgerStorage>(
    storage: &mut B,
    task: TaskId,
    text: Option<String>,
    at: UnixMs,
) -> Result<(), B::Error> {
    text.map_or(Ok(()), |text| storage.append_audit(&AuditRecord { at, task: Some(task), text }))
}
