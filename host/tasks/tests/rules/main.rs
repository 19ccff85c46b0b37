//! What each command does, and what it refuses: what the tests share.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod administration;
mod ambiguous;
mod coverage;
mod customers;
mod doctor;
mod invariants;
mod joins;
mod keys;
mod names;
mod oracle;
mod owners;
mod quotas;
mod records;
mod responses;
mod rows;
mod statement_lines;
mod steps;
mod sweeps;
mod tasks;
mod trips;
mod usage;
mod views;
mod webhooks;

use std::time::Duration;

use gatehouse_model::{Call, Credits, Customer, Key, Replay, Task, UnixMs};

use gatehouse_sample::{
    CommandTemplate, START, STEP, beginning, customer_id, expired, key_id, sent_call, task, task_id,
};
use gatehouse_tasks::{
    Applied, Change, Command, JoinRequest, JournalEntry, MemoryLedgerStorage, QuotaExceeded, QuotaOwner,
    Rejection, apply,
};

/// LedgerStorage with two customers of 300 and 60 credits and three keys (unlimited, 100, 1000).
fn funded() -> MemoryLedgerStorage {
    let mut storage = MemoryLedgerStorage::default();
    for template in beginning() {
        let command = template.command(&storage, START);
        run(&mut storage, command).unwrap();
    }
    storage
}

/// The same with a live task, which a key has submitted at that price.
fn with_task(key: u8, price: i64) -> MemoryLedgerStorage {
    let mut storage = funded();
    run(&mut storage, submit(1, key, price)).unwrap();
    storage
}

fn run(storage: &mut MemoryLedgerStorage, command: Command) -> Result<Applied, Rejection> {
    match apply(storage, command) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// Gives `step` the commands that the templates become, each with the storage before it.
fn play(
    templates: &[CommandTemplate],
    mut step: impl FnMut(&mut MemoryLedgerStorage, Command),
) -> MemoryLedgerStorage {
    let (mut storage, mut at) = (MemoryLedgerStorage::default(), START);
    for template in templates {
        at = at.plus(STEP);
        let command = template.command(&storage, at);
        step(&mut storage, command);
    }
    storage
}

/// Forgets at most `limit` rows whose time is over; how many were.
fn forget(storage: &mut MemoryLedgerStorage, at: UnixMs, limit: usize) -> usize {
    let rows = expired(storage, at).into_iter().take(limit).collect();
    let forgotten = Command::forget_each(rows, at).map(|command| match run(storage, command) {
        Ok(Applied::Forgotten(rows)) => rows,
        other => panic!("expected rows to be forgotten, got {other:?}"),
    });
    forgotten.sum()
}

/// The rejection, having changed nothing.
fn refused(storage: &mut MemoryLedgerStorage, command: Command) -> Rejection {
    let before = storage.clone();
    let rejection = run(storage, command).unwrap_err();
    assert_eq!(*storage, before);
    rejection
}

/// The field of a command that contradicts itself, and has changed nothing.
fn refused_field(storage: &mut MemoryLedgerStorage, command: Command) -> &'static str {
    match refused(storage, command) {
        Rejection::Malformed { field, .. } => field,
        other => panic!("expected a malformed command, not {other:?}"),
    }
}

/// A key's quota that never resets has too little.
fn over_quota(needed: i64, remaining: i64) -> Rejection {
    let (needed, remaining) = (Credits(needed), Credits(remaining));
    Rejection::QuotaExceeded(QuotaExceeded { owner: QuotaOwner::Key, needed, remaining, resets: None })
}

/// A command that contradicts itself.
fn malformed(field: &'static str, problem: impl Into<String>) -> Rejection {
    Rejection::Malformed { field, problem: problem.into() }
}

fn submit(number: u8, key: u8, price: i64) -> Command {
    Command::Submit { task: Box::new(task(number, key, key / 2, price, START)), idempotency: None }
}

fn changed(task: Task, alter: impl FnOnce(&mut Task)) -> Command {
    let mut task = Box::new(task);
    alter(&mut task);
    Command::Submit { task, idempotency: None }
}

fn balances(storage: &MemoryLedgerStorage, customer: u8) -> (i64, i64, i64) {
    let customer = customer_row(storage, customer);
    (customer.available.0, customer.reserved.0, customer.spent.0)
}

fn customer_row(storage: &MemoryLedgerStorage, number: u8) -> &Customer {
    storage.customers().find(|row| row.id == customer_id(number)).unwrap()
}

fn key_row(storage: &MemoryLedgerStorage, number: u8) -> &Key {
    storage.keys().find(|row| row.id == key_id(number)).unwrap()
}

fn used(storage: &MemoryLedgerStorage, key: u8) -> i64 {
    key_row(storage, key).used.0
}

fn last(storage: &MemoryLedgerStorage) -> &JournalEntry {
    storage.ledger().pop().unwrap()
}

fn deposit(customer: u8, amount: i64) -> Command {
    let (customer, amount) = (customer_id(customer), Credits(amount));
    Command::Deposit { customer, amount, memo: String::new(), at: START }
}

fn join(number: u8, request: JoinRequest) -> Command {
    Command::Join { parent: task_id(number), request: Box::new(request), idempotency: None, at: START }
}

fn finish(number: u8, revision: u64, ending: gatehouse_tasks::Ending) -> Command {
    let at = START.plus(Duration::from_secs(60));
    Command::Finish { id: task_id(number), revision, ending, audit: None, at }
}

fn advance(number: u8, revision: u64, change: Change) -> Command {
    Command::Advance { id: task_id(number), revision, change: Box::new(change), at: START }
}

/// A call that may be repeated as `replay` says.
fn call(replay: Replay) -> Call {
    Call { replay, ..sent_call() }
}

fn task_of(answer: Result<Applied, Rejection>) -> Task {
    match answer {
        Ok(Applied::Task(task)) => *task,
        other => panic!("expected a task, not {other:?}"),
    }
}
