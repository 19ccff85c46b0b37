//! The rules of a task's movement and end.
//!
//! ```text
//! submitted -> pending -> processing -> completed | failed      only to the right, any step may be skipped
//! ```
//! Every change names the revision it is based on; whoever comes second is told where the task stands now and
//! changes nothing. So overlapping polls, a timeout and a cancel cannot end a task, or its hold, twice.

use gatehouse_model::{Credits, Phase, Status, Task, TaskId, UnixMs};

use crate::apply::{Ruling, Stop};
use crate::funds::resolution;
use crate::{Answer, Change, Ending, HoldId, LedgerStorage, Note, Rejection};

pub(crate) fn advance<B: LedgerStorage>(
    books: &mut B,
    id: TaskId,
    revision: u64,
    change: Change,
    at: UnixMs,
) -> Ruling<Answer, B> {
    if change.status.is_final() || matches!(change.phase, Phase::Over) {
        let problem = format!("expected a task that goes on, not {}", change.status.as_str());
        return Err(Stop::Rejected(Rejection::malformed("change.status", problem)));
    }
    let mut task = current(books, id, revision)?;
    // A provider may report less than it did before; the client must not see it.
    task.status = task.status.max(change.status);
    task.progress = task.progress.max(change.progress.min(100));
    task.phase = change.phase;
    if let Some((version, state)) = change.state {
        task.state_version = version;
        task.state = state;
    }
    task.digest = change.digest.unwrap_or(task.digest);
    task.seat = change.seat.or(task.seat);
    task.blobs = change.blobs.unwrap_or(task.blobs);
    books.put_live(&task)?;
    write_note(books, id, change.audit, at)?;
    Ok(Answer::Task(Box::new(task)))
}

pub(crate) fn finish<B: LedgerStorage>(
    books: &mut B,
    id: TaskId,
    revision: u64,
    ending: Ending,
    audit: Option<String>,
    at: UnixMs,
) -> Ruling<Answer, B> {
    let mut task = current(books, id, revision)?;
    let held = HoldId::Task(id);
    let hold = books.hold(held)?.ok_or(Stop::Rejected(Rejection::NoHold(held)))?;
    let settled = end(&mut task, ending, at);
    let posting = resolution(books, &hold, settled, String::new(), at)?;

    posting.write(books)?;
    books.remove_hold(&hold)?;
    books.put_finished(&task)?;
    write_note(books, id, audit, at)?;
    Ok(Answer::Task(Box::new(task)))
}

pub(crate) fn audit<B: LedgerStorage>(
    books: &mut B,
    task: Option<TaskId>,
    text: String,
    at: UnixMs,
) -> Ruling<Answer, B> {
    books.note(&Note { at, task, text })?;
    Ok(Answer::Done)
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
fn current<B: LedgerStorage>(books: &B, id: TaskId, revision: u64) -> Ruling<Task, B> {
    let Some(mut task) = books.live(id)? else {
        return Err(Stop::Rejected(match books.finished(id)? {
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

fn write_note<B: LedgerStorage>(
    books: &mut B,
    task: TaskId,
    text: Option<String>,
    at: UnixMs,
) -> Result<(), B::Error> {
    text.map_or(Ok(()), |text| books.note(&Note { at, task: Some(task), text }))
}
