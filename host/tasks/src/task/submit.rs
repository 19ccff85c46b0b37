//! The rule of acceptance: task, hold, ledger row and the memory of the idempotency key, or nothing.

use gatehouse_model::{Credits, Phase, Task};

use crate::commands::command::{Applied, Idempotency};
use crate::commands::funds::{reservation, valid_key};
use crate::commands::rejection::Rejection;
use crate::commands::ruling::{Ruling, Stop};
use crate::ledger::hold::{Hold, HoldId};
use crate::storage::ledger_storage::{IdempotencyRecord, LedgerStorage};

pub(crate) fn submit<B: LedgerStorage>(
    storage: &mut B,
    task: &Task,
    idempotency: Option<Idempotency>,
) -> Ruling<Applied, B> {
    // A repeated submission is answered before key and balance are checked: its receipt was given already.
    let mut outdated = None;
    if let Some(idempotency) = &idempotency {
        match storage.idempotency_record(&idempotency.key, &idempotency.token)? {
            Some(known) if known.expires <= task.created => outdated = Some(known),
            Some(known) if known.fingerprint == idempotency.fingerprint => {
                return Ok(Applied::Repeated(known.task));
            }
            Some(_) => return Err(Stop::Rejected(Rejection::IdempotencyConflict)),
            None => {}
        }
    }
    check(task, idempotency.as_ref()).map_err(Stop::Rejected)?;
    if storage.live(task.id)?.is_some() || storage.finished(task.id)?.is_some() {
        return Err(Stop::Rejected(Rejection::TaskExists(task.id)));
    }
    let key = valid_key(storage, task.key.clone(), task.created)?;
    if key.customer != task.customer {
        let problem = format!("expected the key's customer {}, not {}", key.customer, task.customer);
        return Err(Stop::Rejected(Rejection::malformed("task.customer", problem)));
    }
    let hold = hold_of(task);
    let entry = reservation(storage, key, &hold)?;

    entry.write(storage)?;
    storage.put_hold(&hold)?;
    storage.put_live(task)?;
    if let Some(outdated) = outdated {
        storage.remove_idempotency_record(&outdated)?;
    }
    if let Some(Idempotency { key, token, fingerprint, expires }) = idempotency {
        storage.put_idempotency_record(&IdempotencyRecord {
            key,
            token,
            fingerprint,
            task: task.id,
            expires,
        })?;
    }
    Ok(Applied::Submitted(task.id))
}

fn hold_of(task: &Task) -> Hold {
    Hold {
        id: HoldId::Task(task.id),
        customer: task.customer.clone(),
        key: task.key.clone(),
        amount: task.held,
        unit_price: task.unit_price,
        created: task.created,
        expires: task.deadline,
    }
}

/// What a task must be like to begin.
fn check(task: &Task, idempotency: Option<&Idempotency>) -> Result<(), Rejection> {
    if task.status.is_final() || matches!(task.phase, Phase::Over) {
        return Err(Rejection::malformed("task.status", "expected a task that has not ended"));
    }
    if task.finished.is_some() || task.cost.is_some() {
        return Err(Rejection::malformed("task", "expected no end and no cost yet"));
    }
    if task.progress > 100 {
        return Err(Rejection::malformed(
            "task.progress",
            format!("expected 0 to 100, not {}", task.progress),
        ));
    }
    if task.deadline <= task.created {
        let problem = format!("expected a moment after {}, not {}", task.created, task.deadline);
        return Err(Rejection::malformed("task.deadline", problem));
    }
    let price = task.unit_price.checked_times(task.charge.quantity).ok_or(Rejection::Overflow)?;
    if task.held != price || price < Credits::ZERO {
        let problem = format!("expected quantity times unit price, {price}, not {}", task.held);
        return Err(Rejection::malformed("task.held", problem));
    }
    match idempotency {
        Some(idempotency) if idempotency.key != task.key => {
            let problem = format!("expected the task's key {}, not {}", task.key, idempotency.key);
            Err(Rejection::malformed("idempotency.key", problem))
        }
        _ => Ok(()),
    }
}
