//! The rule of a task's end: its record, its hold, the names it claims and what its webhooks are told, or nothing.

use bytes::Bytes;
use gatehouse_model::{Credits, Phase, Status, Task, TaskId, UnixMs, Usage};

use crate::commands::change::{Ending, ResultRecord};
use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::records::hold::HoldId;
use crate::records::journal_entry::Note;
use crate::rules::funds::resolution;
use crate::storage::ledger_storage::LedgerStorage;
use crate::task::advance::{append_audit_text, current};
use crate::task::claims;
use crate::webhooks::deliveries::task_ended;

pub(crate) fn finish<B: LedgerStorage>(
    storage: &mut B,
    id: TaskId,
    revision: u64,
    ending: Ending,
    audit: Option<String>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    claims::check(ending.claims()).map_err(Stop::Rejected)?;
    let mut task = current(storage, id, revision)?;
    let held = HoldId::Task(id);
    let hold = storage.hold(held)?.ok_or(Stop::Rejected(Rejection::NoHold(held)))?;
    check_joins(&task, &ending).map_err(Stop::Rejected)?;
    let names = claims::records(storage, &task, ending.claims(), at)?;
    let settled = end(&mut task, ending, at);
    // What is given back was not spent on anybody.
    let note = settled.map(|_| Note::new(String::new(), &task.tags)).unwrap_or_default();
    let resolution = resolution(storage, &hold, settled, &note, at)?;

    resolution.write(storage, &task.model, Usage::default())?;
    storage.remove_hold(&hold)?;
    names.iter().try_for_each(|name| storage.put_name(name))?;
    storage.put_task(&task)?;
    task_ended(storage, &task, at)?;
    append_audit_text(storage, id, audit, at)?;
    Ok(Applied::Task(Box::new(task)))
}

/// A task completes with everything that joined it, at no less than that costs, and not while a call is ambiguous.
fn check_joins(task: &Task, ending: &Ending) -> Result<(), Rejection> {
    let Ending::Completed { cost, .. } = ending else { return Ok(()) };
    if task.phase.ambiguous_call().is_some() {
        return Err(Rejection::Ambiguous(task.id));
    }
    if !task.joined.is_empty() {
        return Err(Rejection::JoinsPending(task.joined.len()));
    }
    // A cost below zero is malformed, whatever joined.
    if *cost >= Credits::ZERO && *cost < task.joined_held {
        return Err(Rejection::UnderJoined { cost: *cost, joined: task.joined_held });
    }
    Ok(())
}

/// Writes the end into the task's record; what is to be settled, if anything.
fn end(task: &mut Task, ending: Ending, at: UnixMs) -> Option<Credits> {
    let (settled, result) = match ending {
        Ending::Completed { result, cost, .. } => {
            task.status = Status::Completed;
            task.progress = 100;
            task.failure = None;
            (Some(cost), Some(result))
        }
        Ending::Failed { failure, progress, result, .. } => {
            task.status = Status::Failed;
            task.progress = task.progress.max(progress.min(100));
            task.failure = Some(failure);
            (None, result)
        }
    };
    if let Some(ResultRecord { public, private, media }) = result {
        (task.public, task.private, task.media) = (public, private, media);
    }
    task.cost = Some(settled.unwrap_or(Credits::ZERO));
    task.finished = Some(at);
    task.phase = Phase::Over;
    task.state = Vec::new();
    task.brief = Bytes::new();
    // The driver drops the blobs of an ended task, and so those of undelivered requests too.
    task.blobs.extend(task.joined.drain(..).flat_map(|request| request.blobs));
    settled
}
