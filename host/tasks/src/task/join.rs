//! The rule of joining: an accepted request is added to a living task with its money, or nothing is.
//!
//! The task's revision stays: a step under way is not based on what joins, and its commit must not be lost for it. The
//! other way round it counts: a request is accepted for the task that its plugin was shown, and no other. Otherwise two
//! requests, each of which the task takes once, would both be accepted and billed.

use gatehouse_model::{Charge, CustomerId, JoinedRequest, Status, Task, TaskId, Terms, UnixMs};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::commands::request::{Idempotency, JoinRequest, JudgedTask};
use crate::records::hold::{Hold, HoldId};
use crate::rules::funds::{addition, valid_key};
use crate::storage::ledger_storage::LedgerStorage;
use crate::task::idempotency;
use crate::task::submit::{check_price, check_scope};

/// Requests that may have joined a task and wait for it.
pub const MAX_UNDELIVERED_JOINS: usize = 16;

pub(crate) fn join<B: LedgerStorage>(
    storage: &mut B,
    parent: TaskId,
    request: JoinRequest,
    idempotency: Option<Idempotency>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if let Some(task) = idempotency::look_up(storage, idempotency.as_ref(), at)? {
        return Ok(Applied::Repeated(task));
    }
    let terms = Terms { charge: &request.charge, at_most: &Charge::default(), prices: &request.prices };
    check_price("request.held", terms, request.held).map_err(Stop::Rejected)?;
    check_scope("the request's key", &request.key, idempotency.as_ref()).map_err(Stop::Rejected)?;
    let key = valid_key(storage, request.key.clone(), at)?;
    let mut task = joinable(storage, parent, &key.customer, request.judged)?;
    let held = HoldId::Task(parent);
    let hold = storage.hold(held)?.ok_or(Stop::Rejected(Rejection::NoHold(held)))?;
    let entry = addition(storage, key, &hold, request.held, at)?;
    let JoinRequest { key, surface, brief, blobs, held, deadline, .. } = request;
    let overflow = || Stop::Rejected(Rejection::Overflow);
    task.deadline = task.deadline.max(deadline);
    let hold = hold.joined(&key, held, entry.counted()).ok_or_else(overflow)?;
    let hold = Hold { expires: task.deadline, ..hold };
    task.held = task.held.checked_add(held).ok_or_else(overflow)?;
    task.joined_held = task.joined_held.checked_add(held).ok_or_else(overflow)?;
    task.joined.push(JoinedRequest { surface, brief, blobs, held });

    entry.write(storage)?;
    storage.put_hold(&hold)?;
    storage.put_task(&task)?;
    idempotency::remember(storage, idempotency, parent)?;
    Ok(Applied::Joined(parent))
}

/// The task, if a request of that customer may join it. A task of another customer is as unknown as one that never
/// existed.
fn joinable<B: LedgerStorage>(
    storage: &B,
    id: TaskId,
    customer: &CustomerId,
    judged: JudgedTask,
) -> Ruling<Task, B> {
    let live = storage.live(id)?.filter(|task| task.customer == *customer);
    let Some(task) = live else {
        let ended = storage.finished(id)?.filter(|task| task.customer == *customer);
        return Err(Stop::Rejected(
            ended.map_or(Rejection::NoTask(id), |task| Rejection::Final(task.status)),
        ));
    };
    if task.failure.is_some() {
        // It lives only until its failure is shown.
        return Err(Stop::Rejected(Rejection::Final(Status::Failed)));
    }
    if task.joined.len() >= MAX_UNDELIVERED_JOINS {
        return Err(Stop::Rejected(Rejection::JoinsFull(task.joined.len())));
    }
    if JudgedTask::of(&task) != judged {
        return Err(Stop::Rejected(Rejection::Stale { current: task.revision }));
    }
    Ok(task)
}
