//! The rules of a task's movement.
//!
//! ```text
//! submitted -> pending -> processing -> completed | failed      only to the right, any step may be skipped
//! ```
//! Every change names the revision it is based on; the second of two changes is rejected with the present revision and
//! changes nothing. So overlapping polls, a timeout and a cancel cannot end a task, or its hold, twice.
//! A change never carries the requests that joined nor their money: those stay as the record has them. A task's brief is in its
//! record, never in its phase. Every change begins with the live task (`current`).

use bytes::Bytes;
use gatehouse_model::{Event, Phase, Task, TaskId, UnixMs};

use crate::commands::change::{Change, ResultRecord};
use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};

/// The live task at that revision, already counted one further.
pub(super) fn current<B: LedgerStorage>(storage: &B, id: TaskId, revision: u64) -> Ruling<Task, B> {
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

/// Its line in the audit record, where there is one.
pub(super) fn append_audit_text<B: LedgerStorage>(
    storage: &mut B,
    task: TaskId,
    text: Option<String>,
    at: UnixMs,
) -> Result<(), B::Error> {
    text.map_or(Ok(()), |text| {
        storage.append_audit(&AuditRecord { at, task: Some(task), text, ..AuditRecord::default() })
    })
}

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
    check(&task, &change).map_err(Stop::Rejected)?;
    // A provider may report less than it did before; the client must not see it.
    task.status = task.status.max(change.status);
    task.progress = task.progress.max(change.progress.min(100));
    if let Some((version, state)) = change.state {
        task.state_version = version;
        task.state = state;
    }
    task.digest = change.digest.unwrap_or(task.digest);
    task.assignment = change.assignment.or(task.assignment);
    task.blobs = change.blobs.unwrap_or(task.blobs);
    task.stop_asked = change.stop_asked;
    task.sent_again |= change.sent_again;
    if let Some(ResultRecord { public, private, media }) = change.view {
        (task.public, task.private, task.media) = (public, private, media);
    }
    if change.deliver {
        deliver(&mut task);
    } else {
        task.phase = without_brief(change.phase);
        if !hands_over_brief(&task.phase) {
            task.brief = Bytes::new();
        }
    }
    storage.put_task(&task)?;
    append_audit_text(storage, id, change.audit, at)?;
    Ok(Applied::Task(Box::new(task)))
}

pub(crate) fn audit<B: LedgerStorage>(
    storage: &mut B,
    task: Option<TaskId>,
    text: String,
    at: UnixMs,
) -> Ruling<Applied, B> {
    storage.append_audit(&AuditRecord { at, task, text, ..AuditRecord::default() })?;
    Ok(Applied::Done)
}

/// Whether the phase hands the brief over.
fn hands_over_brief(phase: &Phase) -> bool {
    matches!(phase, Phase::Run(Event::Start(_) | Event::Joined(_)))
}

/// The phase as it is stored: the brief is in the task's record, once.
pub(super) fn without_brief(phase: Phase) -> Phase {
    match phase {
        Phase::Run(Event::Start(_)) => Phase::Run(Event::Start(Bytes::new())),
        Phase::Run(Event::Joined(_)) => Phase::Run(Event::Joined(Bytes::new())),
        other => other,
    }
}

/// An ambiguous call waits for its ruling. A brief is handed over by the event it came for, and each request that joined is
/// delivered once.
fn check(task: &Task, change: &Change) -> Result<(), Rejection> {
    if task.phase.ambiguous_call().is_some() {
        return Err(Rejection::Ambiguous(task.id));
    }
    if let Some(lost) = change.phase.ambiguous_call()
        && !matches!(&task.phase, Phase::Sent { call, .. } if call == lost)
    {
        let problem = "expected the call that was sent; no other can be ambiguous";
        return Err(Rejection::malformed("change.phase", problem));
    }
    if change.deliver {
        if task.joined.is_empty() {
            return Err(Rejection::malformed(
                "change.deliver",
                "expected a request that joined; there is none",
            ));
        }
        if !matches!(change.phase, Phase::Wait(_) | Phase::Save(_)) {
            let problem = "expected a wait or a save, which a request that joined may interrupt";
            return Err(Rejection::malformed("change.phase", problem));
        }
        return Ok(());
    }
    let is_same = matches!(
        (&task.phase, &change.phase),
        (Phase::Run(Event::Start(_)), Phase::Run(Event::Start(_)))
            | (Phase::Run(Event::Joined(_)), Phase::Run(Event::Joined(_)))
    );
    if hands_over_brief(&change.phase) && !is_same {
        let problem =
            "expected an event that a change can make; a task starts once, and `deliver` makes it joined";
        return Err(Rejection::malformed("change.phase", problem));
    }
    Ok(())
}

/// Moves the oldest request that joined into the task. Its money was added when it joined.
fn deliver(task: &mut Task) {
    if task.joined.is_empty() {
        return;
    }
    let request = task.joined.remove(0);
    task.brief = request.brief;
    task.blobs.extend(request.blobs);
    task.phase = Phase::Run(Event::Joined(Bytes::new()));
}
