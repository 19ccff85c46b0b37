//! The rule of acceptance: task, hold, ledger row and the memory of the idempotency key, or nothing.

use gatehouse_model::{Credits, Event, KeyId, Phase, Task, Terms};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::commands::request::Idempotency;
use crate::records::hold::{Hold, HoldId};
use crate::rules::funds::{reservation, valid_key};
use crate::storage::ledger_storage::LedgerStorage;
use crate::task::advance::without_brief;
use crate::task::idempotency;

pub(crate) fn submit<B: LedgerStorage>(
    storage: &mut B,
    mut task: Task,
    idempotency: Option<Idempotency>,
) -> Ruling<Applied, B> {
    if let Some(task) = idempotency::look_up(storage, idempotency.as_ref(), task.created)? {
        return Ok(Applied::Repeated(task));
    }
    check(&task, idempotency.as_ref()).map_err(Stop::Rejected)?;
    task.phase = without_brief(task.phase);
    if storage.live(task.id)?.is_some() || storage.finished(task.id)?.is_some() {
        return Err(Stop::Rejected(Rejection::TaskExists(task.id)));
    }
    let key = valid_key(storage, task.key.clone(), task.created)?;
    if key.customer != task.customer {
        let problem = format!("expected the key's customer {}, not {}", key.customer, task.customer);
        return Err(Stop::Rejected(Rejection::malformed("task.customer", problem)));
    }
    let hold = hold_of(&task);
    let entry = reservation(storage, key, &hold)?;
    let hold = hold.reserved(entry.counted());

    entry.write(storage)?;
    storage.put_hold(&hold)?;
    storage.put_task(&task)?;
    idempotency::remember(storage, idempotency, task.id)?;
    Ok(Applied::Submitted(task.id))
}

fn hold_of(task: &Task) -> Hold {
    Hold {
        id: HoldId::Task(task.id),
        customer: task.customer.clone(),
        key: task.key.clone(),
        amount: task.held,
        created: task.created,
        expires: task.deadline,
        shares: Vec::new(),
        model: task.model.clone(),
        counted: None,
        counted_of_customer: None,
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
    let has_joined = !task.joined.is_empty() || task.joined_held != Credits::ZERO;
    if has_joined || matches!(task.phase, Phase::Run(Event::Joined(_))) {
        return Err(Rejection::malformed("task.joined", "expected no request that joined before it began"));
    }
    check_price("task.held", task.terms(), task.held)?;
    check_scope("the task's key", &task.key, idempotency)
}

/// What is held must be the price of the charge, or of its limit where that is dearer.
pub(crate) fn check_price(field: &'static str, terms: Terms<'_>, held: Credits) -> Result<(), Rejection> {
    let price = terms.hold().ok_or(Rejection::Overflow)?;
    if held != price || terms.prices.iter().any(|price| price.credits < Credits::ZERO) {
        let problem = format!("expected the price of its lines, {price}, not {held}");
        return Err(Rejection::malformed(field, problem));
    }
    Ok(())
}

/// A client's token is scoped to the key it comes with.
pub(crate) fn check_scope(
    whose: &str,
    key: &KeyId,
    idempotency: Option<&Idempotency>,
) -> Result<(), Rejection> {
    match idempotency {
        Some(idempotency) if idempotency.key != *key => {
            let problem = format!("expected {whose} {key}, not {}", idempotency.key);
            Err(Rejection::malformed("idempotency.key", problem))
        }
        _ => Ok(()),
    }
}
