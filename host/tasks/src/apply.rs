//! Applies a command: dispatches it to its rule, and a command within an operator's request to its own; keeps the steps that led
//! to a change.
//!
//! What a command changed before it was rejected, or before a row could not be read, is undone here: a rule may read and check
//! after its first write, and a store may apply many commands in one transaction.

use gatehouse_model::{UnixMs, Usage};

use crate::commands::command::{Applied, Command};
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::commands::webhook_change::WebhookChange;
use crate::records::administration::{AdminIdempotency, AuditedRequest};
use crate::records::journal_entry::Note;
use crate::records::step::{MAX_STEP_ROWS_OF_A_DAY, StepRecord, StepRow};
use crate::rules::{administer, funds, keep_record, keep_response, keys};
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};
use crate::task::{advance, finish, forget, join, reconcile, submit};
use crate::webhooks::{deliveries, endpoints};

/// Applies one command.
///
/// The inner result is the command's own: a [`Rejection`] means that nothing was changed.
///
/// # Errors
/// What the storage reports. Nothing was changed then, either.
pub fn apply<B: LedgerStorage>(
    storage: &mut B,
    command: Command,
) -> Result<Result<Applied, Rejection>, B::Error> {
    storage.begin();
    let stop = match rule(storage, command) {
        Ok(answer) => return Ok(Ok(answer)),
        Err(stop) => stop,
    };
    storage.undo();
    match stop {
        Stop::Rejected(rejection) => Ok(Err(rejection)),
        Stop::Broken(error) => Err(error),
    }
}

fn rule<B: LedgerStorage>(storage: &mut B, command: Command) -> Ruling<Applied, B> {
    match command {
        Command::AddKey { key } => keys::add_key(storage, *key),
        Command::Administer { change, audit, idempotency, at } => {
            administer(storage, change, *audit, idempotency, at)
        }
        Command::Advance { id, revision, change, at } => advance::advance(storage, id, revision, *change, at),
        Command::Audit { task, text, at } => advance::audit(storage, task, text, at),
        Command::Deposit { customer, amount, memo, at } => {
            funds::deposit(storage, &customer, amount, memo, at)
        }
        Command::EditCustomer { id, revision, policy, at } => {
            funds::edit_customer(storage, &id, revision, policy, at)
        }
        Command::EditKey { id, revision, policy, at } => keys::edit_key(storage, &id, revision, *policy, at),
        Command::Finish { id, revision, ending, audit, at } => {
            finish::finish(storage, id, revision, ending, audit, at)
        }
        Command::Forget { customer, rows, at } => forget::expired(storage, customer.as_ref(), rows, at),
        Command::ForgetResponse { customer, id, at } => keep_response::forget(storage, &customer, &id, at),
        Command::Hold { id, key, model, amount, expires, at } => {
            funds::hold(storage, id, key, amount, model, at..expires)
        }
        Command::Join { parent, request, idempotency, at } => {
            join::join(storage, parent, *request, idempotency, at)
        }
        Command::KeepRecord { record } => keep_record::keep(storage, *record),
        Command::KeepResponse { record, limits } => keep_response::keep(storage, &record, limits),
        Command::Logged { change, steps, at } => match *change {
            change @ (Command::Advance { .. } | Command::Finish { .. } | Command::Reconcile { .. }) => {
                let applied = rule(storage, change)?;
                keep_steps(storage, applied, steps, at)
            }
            _ => {
                let problem = "expected the progress, a ruling or the end of a task";
                Err(Stop::Rejected(Rejection::malformed("change", problem)))
            }
        },
        Command::AddCustomer { id, policy, at } => funds::add_customer(storage, id, policy, at),
        Command::Reconcile { id, revision, ruling, reason, deadline, at } => {
            reconcile::reconcile(storage, id, revision, deadline, ruling, reason, at)
        }
        Command::Release { id, at } => {
            funds::resolve(storage, id, None, Note::default(), Usage::default(), at)
        }
        Command::RevokeKey { id, at } => keys::revoke_key(storage, id, at),
        Command::RotateKey { id, new, digest, until, at } => {
            keys::rotate_key(storage, id, until, new, digest, at)
        }
        Command::Settle { id, amount, memo, tokens, tags, at } => {
            funds::resolve(storage, id, Some(amount), Note::new(memo, &tags), tokens, at)
        }
        Command::Submit { task, idempotency } => submit::submit(storage, *task, idempotency),
        Command::MarkLedger { mark, at } => {
            let text = mark.to_string();
            storage.append_audit(&AuditRecord { at, text, mark: Some(mark), ..AuditRecord::default() })?;
            Ok(Applied::Done)
        }
        Command::Webhook { change, at } => webhook(storage, *change, at),
    }
}

fn webhook<B: LedgerStorage>(storage: &mut B, change: WebhookChange, at: UnixMs) -> Ruling<Applied, B> {
    match change {
        WebhookChange::Add(webhook) => endpoints::add(storage, webhook),
        WebhookChange::Edit { id, revision, policy, by_customer, by_word } => {
            endpoints::edit(storage, id, revision, policy, by_customer, by_word, at)
        }
        WebhookChange::Remove { id } => endpoints::remove(storage, id),
        WebhookChange::Rotate { id, secret } => endpoints::rotate(storage, id, secret, at),
        WebhookChange::Retire { id } => endpoints::retire(storage, id),
        WebhookChange::Test { id, delivery } => deliveries::test(storage, id, delivery, at),
        WebhookChange::Resend { delivery } => deliveries::resend(storage, delivery, at),
        WebhookChange::ResendAll { id, deliveries } => deliveries::resend_all(storage, id, deliveries, at),
        WebhookChange::Record { delivery, attempt, retry_after_ms, chance } => {
            deliveries::record(storage, delivery, attempt, retry_after_ms, chance, at)
        }
    }
}

/// Keeps the steps that led to a change of a task, which was applied already: their row is written with the change, or not at
/// all.
fn keep_steps<B: LedgerStorage>(
    storage: &mut B,
    applied: Applied,
    steps: Vec<StepRecord>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if let (Applied::Task(task), false) = (&applied, steps.is_empty())
        && storage.step_rows(task.id.timestamp().day())? < MAX_STEP_ROWS_OF_A_DAY
    {
        storage.put_steps(&StepRow::bounded(task.id, task.revision, at, steps))?;
    }
    Ok(applied)
}

/// The change of an operator's request is applied first: its line and what is remembered of it say what it made.
fn administer<B: LedgerStorage>(
    storage: &mut B,
    change: Option<Box<Command>>,
    audit: AuditedRequest,
    idempotency: Option<AdminIdempotency>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if let Some(record) = administer::look_up(storage, idempotency.as_ref(), at)? {
        return administer::repeat(storage, record, audit, at);
    }
    let change = match change.map(|change| *change) {
        Some(Command::Administer { .. }) => {
            let problem = "expected a change, not another request";
            return Err(Stop::Rejected(Rejection::malformed("change", problem)));
        }
        Some(change) => Some(Box::new(rule(storage, change)?)),
        None => None,
    };
    administer::record(storage, idempotency, audit, change, at)
}
