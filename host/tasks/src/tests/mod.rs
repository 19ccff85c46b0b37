//! What each command does, and what it refuses.

mod coverage;
mod doctor;
mod invariants;
mod joins;
mod names;
mod oracle;
mod views;

use std::time::Duration;

use gatehouse_model::{
    AccountAssignment, BlobId, Call, Credits, Digest, FailureKind, Payload, Phase, Reading, Replay, Status,
    Target, Task, UnixMs,
};

use crate::apply::apply;
use crate::commands::change::Change;
use crate::commands::command::{Applied, Command};
use crate::commands::rejection::Rejection;
use crate::commands::request::Idempotency;
use crate::ledger::hold::HoldId;
use crate::ledger::journal_entry::{EntryKind, JournalEntry};
use crate::sample::{
    START, beginning, change, completed, customer_id, failed, key, key_id, request_id, task, task_id,
};
use crate::storage::memory::MemoryLedgerStorage;
use crate::task::decide::{AfterCrash, after_crash, is_overdue, timed_out};

/// LedgerStorage with two customers of 300 and 60 credits and three keys (unlimited, 100, 1000).
fn funded() -> MemoryLedgerStorage {
    let mut storage = MemoryLedgerStorage::default();
    for template in beginning() {
        let command = template.command(&storage, START);
        assert_eq!(run(&mut storage, command), Ok(Applied::Done));
    }
    storage
}

fn run(storage: &mut MemoryLedgerStorage, command: Command) -> Result<Applied, Rejection> {
    match apply(storage, command) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// The rejection, having changed nothing.
fn refused(storage: &mut MemoryLedgerStorage, command: Command) -> Rejection {
    let before = storage.clone();
    let rejection = run(storage, command).unwrap_err();
    assert_eq!(*storage, before);
    rejection
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
    let customer = storage.customers().find(|row| row.id == customer_id(customer)).unwrap();
    (customer.available.0, customer.reserved.0, customer.spent.0)
}

fn used(storage: &MemoryLedgerStorage, key: u8) -> i64 {
    storage.keys().find(|row| row.id == key_id(key)).unwrap().used.0
}

fn last(storage: &MemoryLedgerStorage) -> &JournalEntry {
    storage.ledger().last().unwrap()
}

fn finish(number: u8, revision: u64, ending: crate::Ending) -> Command {
    Command::Finish {
        id: task_id(number),
        revision,
        ending,
        audit: None,
        at: START.plus(Duration::from_secs(60)),
    }
}

fn advance(number: u8, revision: u64, change: Change) -> Command {
    Command::Advance { id: task_id(number), revision, change: Box::new(change), at: START }
}

fn task_of(answer: Result<Applied, Rejection>) -> Task {
    match answer {
        Ok(Applied::Task(task)) => *task,
        other => panic!("expected a task, not {other:?}"),
    }
}

#[test]
fn a_task_holds_its_price_and_settles_its_cost() {
    let mut storage = funded();
    assert_eq!(run(&mut storage, submit(1, 1, 40)), Ok(Applied::Submitted(task_id(1))));
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((260, 40, 0), 40));
    assert_eq!((last(&storage).kind, last(&storage).hold), (EntryKind::Hold, Some(HoldId::Task(task_id(1)))));

    let over = task_of(run(&mut storage, finish(1, 0, completed(30))));
    assert_eq!((over.status, over.progress, over.cost), (Status::Completed, 100, Some(Credits(30))));
    assert_eq!((over.phase, over.state, over.revision), (Phase::Over, vec![], 1));
    assert_eq!(over.finished, Some(START.plus(Duration::from_secs(60))));
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((270, 0, 30), 30));
    assert_eq!(
        (storage.live_tasks().count(), storage.finished_tasks().count(), storage.holds().count()),
        (0, 1, 0)
    );
    assert!(storage.examine().is_clean());
}

#[test]
fn a_failed_task_costs_nothing() {
    let mut storage = funded();
    run(&mut storage, submit(1, 1, 40)).unwrap();
    run(&mut storage, advance(1, 0, change(Status::Processing, 70))).unwrap();
    let over = task_of(run(&mut storage, finish(1, 1, failed())));
    assert_eq!((over.status, over.progress, over.cost), (Status::Failed, 70, Some(Credits::ZERO)));
    assert_eq!(over.failure.unwrap().kind, FailureKind::Upstream);
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((300, 0, 0), 0));
    assert_eq!(last(&storage).kind, EntryKind::Release);
}

#[test]
fn a_doomed_task_keeps_its_fault_until_it_fails() {
    let mut storage = funded();
    let doomed = changed(task(1, 0, 0, 5, START), |task| task.failure = Some(timed_out()));
    run(&mut storage, doomed).unwrap();
    assert_eq!(storage.live_tasks().next().unwrap().failure, Some(timed_out()));
    assert_eq!(task_of(run(&mut storage, finish(1, 0, failed()))).failure.unwrap().message, "it broke");
}

#[test]
fn a_submission_is_checked_before_anything_is_written() {
    let mut storage = funded();
    run(&mut storage, submit(0, 0, 250)).unwrap();
    let credits = Credits;
    let table: Vec<(Command, Rejection)> = vec![
        (submit(0, 0, 1), Rejection::TaskExists(task_id(0))),
        (submit(1, 0, 51), Rejection::InsufficientBalance { needed: credits(51), available: credits(50) }),
        (submit(1, 2, 61), Rejection::InsufficientBalance { needed: credits(61), available: credits(60) }),
        (submit(1, 3, 1), Rejection::NoKey(key_id(3))),
        (
            changed(task(1, 0, 1, 1, START), |_| ()),
            Rejection::malformed("task.customer", "expected the key's customer customer-0, not customer-1"),
        ),
        (
            changed(task(1, 0, 0, 1, START), |task| task.held = credits(2)),
            Rejection::malformed("task.held", "expected quantity times unit price, 0.000001, not 0.000002"),
        ),
        (
            changed(task(1, 0, 0, -1, START), |_| ()),
            Rejection::malformed("task.held", "expected quantity times unit price, -0.000001, not -0.000001"),
        ),
        (changed(task(1, 0, 0, i64::MAX, START), |task| task.charge.quantity = 2), Rejection::Overflow),
        (
            changed(task(1, 0, 0, 1, START), |task| task.deadline = START),
            Rejection::malformed("task.deadline", format!("expected a moment after {START}, not {START}")),
        ),
        (
            changed(task(1, 0, 0, 1, START), |task| task.progress = 101),
            Rejection::malformed("task.progress", "expected 0 to 100, not 101"),
        ),
        (
            changed(task(1, 0, 0, 1, START), |task| task.status = Status::Failed),
            Rejection::malformed("task.status", "expected a task that has not ended"),
        ),
        (
            changed(task(1, 0, 0, 1, START), |task| task.phase = Phase::Over),
            Rejection::malformed("task.status", "expected a task that has not ended"),
        ),
        (
            changed(task(1, 0, 0, 1, START), |task| task.cost = Some(credits(1))),
            Rejection::malformed("task", "expected no end and no cost yet"),
        ),
    ];
    for (command, expected) in table {
        assert_eq!(refused(&mut storage, command), expected);
    }
}

#[test]
fn a_quota_bounds_its_key_and_a_release_gives_it_back() {
    let mut storage = funded();
    run(&mut storage, submit(1, 1, 60)).unwrap();
    let short = Rejection::QuotaExceeded { needed: Credits(41), remaining: Credits(40) };
    assert_eq!(refused(&mut storage, submit(2, 1, 41)), short);
    run(&mut storage, submit(2, 1, 40)).unwrap();
    run(&mut storage, finish(1, 0, failed())).unwrap();
    run(&mut storage, submit(3, 1, 60)).unwrap();
    assert_eq!(used(&storage, 1), 100);
}

#[test]
fn a_key_that_ended_admits_nothing_but_its_holds_still_resolve() {
    let mut storage = funded();
    run(&mut storage, submit(1, 0, 5)).unwrap();
    run(&mut storage, Command::RevokeKey { id: key_id(0), at: START }).unwrap();
    assert_eq!(refused(&mut storage, submit(2, 0, 5)), Rejection::KeyRevoked(key_id(0)));
    // Revoking again keeps the first moment.
    run(&mut storage, Command::RevokeKey { id: key_id(0), at: UnixMs(START.0 + 1) }).unwrap();
    assert_eq!(storage.keys().next().unwrap().revoked, Some(START));
    run(&mut storage, finish(1, 0, completed(5))).unwrap();

    let expiring = key(3, 0, None);
    let expires = Some(START);
    run(&mut storage, Command::AddKey { key: Box::new(gatehouse_model::Key { expires, ..expiring }) })
        .unwrap();
    let late = changed(task(2, 3, 0, 5, START), |_| ());
    assert_eq!(refused(&mut storage, late), Rejection::KeyExpired(key_id(3)));
    let early = changed(task(2, 3, 0, 5, UnixMs(START.0 - 1)), |_| ());
    assert_eq!(run(&mut storage, early), Ok(Applied::Submitted(task_id(2))));
    assert_eq!(
        refused(&mut storage, Command::RevokeKey { id: key_id(9), at: START }),
        Rejection::NoKey(key_id(9))
    );
}

#[test]
fn keys_and_accounts_are_made_once() {
    let mut storage = funded();
    let add = |key| Command::AddKey { key: Box::new(key) };
    let same_digest = gatehouse_model::Key { digest: key(0, 0, None).digest, ..key(5, 0, None) };
    let spent = gatehouse_model::Key { used: Credits(1), ..key(5, 0, None) };
    for (command, expected) in [
        (Command::AddCustomer { id: customer_id(0), at: START }, Rejection::CustomerExists(customer_id(0))),
        (
            Command::AddCustomer { id: "".into(), at: START },
            Rejection::malformed("id", "expected a customer's name, not an empty text"),
        ),
        (add(key(0, 0, None)), Rejection::KeyExists(key_id(0))),
        (add(same_digest), Rejection::KeyExists(key_id(5))),
        (add(key(5, 7, None)), Rejection::NoCustomer(customer_id(7))),
        (add(key(5, 0, Some(-1))), Rejection::malformed("quota", "expected zero or more, not -0.000001")),
        (add(spent), Rejection::malformed("used", "expected a new key, not one that used 0.000001")),
    ] {
        assert_eq!(refused(&mut storage, command), expected);
    }
}

#[test]
fn deposits_move_only_what_is_free() {
    let mut storage = funded();
    run(&mut storage, submit(1, 0, 100)).unwrap();
    let deposit = |amount| Command::Deposit {
        customer: customer_id(0),
        amount: Credits(amount),
        memo: "by hand".into(),
        at: START,
    };
    let short = Rejection::InsufficientBalance { needed: Credits(201), available: Credits(200) };
    assert_eq!(refused(&mut storage, deposit(-201)), short);
    assert_eq!(refused(&mut storage, deposit(i64::MAX)), Rejection::Overflow);
    assert_eq!(refused(&mut storage, deposit(i64::MIN)), Rejection::Overflow);
    assert_eq!(
        refused(&mut storage, deposit(0)),
        Rejection::malformed("amount", "expected more or less than zero")
    );
    run(&mut storage, deposit(-200)).unwrap();
    assert_eq!(balances(&storage, 0), (0, 100, 0));
    assert_eq!((last(&storage).movement.external, last(&storage).memo.as_str()), (Credits(200), "by hand"));
}

#[test]
fn an_idempotency_key_names_one_request() {
    let mut storage = funded();
    let at = |number, fingerprint: &[u8], minutes: u64| {
        let created = START.plus(Duration::from_secs(60 * minutes));
        Command::Submit {
            task: Box::new(task(number, 0, 0, 10, created)),
            idempotency: Some(Idempotency {
                key: key_id(0),
                token: Digest::of(b"token"),
                fingerprint: Digest::of(fingerprint),
                expires: created.plus(Duration::from_secs(600)),
            }),
        }
    };
    assert_eq!(run(&mut storage, at(1, b"a", 0)), Ok(Applied::Submitted(task_id(1))));
    let before = storage.clone();
    assert_eq!(run(&mut storage, at(2, b"a", 9)), Ok(Applied::Repeated(task_id(1))));
    assert_eq!(storage, before);
    assert_eq!(refused(&mut storage, at(2, b"b", 9)), Rejection::IdempotencyConflict);
    // From its expiry on the row counts as absent, swept or not.
    assert_eq!(run(&mut storage, at(2, b"b", 10)), Ok(Applied::Submitted(task_id(2))));
    assert_eq!(storage.idempotency_records().count(), 1);

    let sweep =
        |minutes: u64, limit| Command::Sweep { now: START.plus(Duration::from_secs(60 * minutes)), limit };
    assert_eq!(run(&mut storage, sweep(19, 9)), Ok(Applied::Swept { removed: 0, more: false }));
    assert_eq!(run(&mut storage, sweep(20, 1)), Ok(Applied::Swept { removed: 1, more: true }));
    assert_eq!(run(&mut storage, sweep(20, 1)), Ok(Applied::Swept { removed: 0, more: false }));
    let mut foreign = at(3, b"a", 30);
    if let Command::Submit { idempotency: Some(idempotency), .. } = &mut foreign {
        idempotency.key = key_id(1);
    }
    assert_eq!(
        refused(&mut storage, foreign),
        Rejection::malformed("idempotency.key", "expected the task's key key0, not key1")
    );
}

#[test]
fn a_task_only_moves_forward() {
    let mut storage = funded();
    run(&mut storage, submit(1, 0, 10)).unwrap();
    let task = task_of(run(&mut storage, advance(1, 0, change(Status::Processing, 250))));
    assert_eq!((task.status, task.progress, task.revision), (Status::Processing, 100, 1));
    let task = task_of(run(&mut storage, advance(1, 1, change(Status::Pending, 20))));
    assert_eq!((task.status, task.progress, task.revision), (Status::Processing, 100, 2));
    assert_eq!(
        refused(&mut storage, advance(1, 1, change(Status::Pending, 20))),
        Rejection::Stale { current: 2 }
    );
    assert_eq!(refused(&mut storage, finish(1, 1, completed(0))), Rejection::Stale { current: 2 });
    assert_eq!(
        refused(&mut storage, advance(2, 0, change(Status::Pending, 0))),
        Rejection::NoTask(task_id(2))
    );
    for ended in [change(Status::Completed, 0), Change { phase: Phase::Over, ..change(Status::Pending, 0) }] {
        let problem = format!("expected a task that goes on, not {}", ended.status.as_str());
        assert_eq!(
            refused(&mut storage, advance(1, 2, ended)),
            Rejection::malformed("change.status", problem)
        );
    }
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let mut storage = funded();
    run(&mut storage, submit(1, 0, 10)).unwrap();
    let blobs = vec![BlobId::from_bits(9)];
    let assignment = AccountAssignment { provider: "bfl".into(), account: "main".into() };
    let full = Change {
        phase: Phase::Wait(START),
        state: Some((3, vec![1, 2])),
        digest: Some(Digest::of(b"newer")),
        assignment: Some(assignment.clone()),
        blobs: Some(blobs.clone()),
        audit: Some("migrated".into()),
        ..change(Status::Pending, 1)
    };
    let first = task_of(run(&mut storage, advance(1, 0, full)));
    let second = task_of(run(&mut storage, advance(1, 1, change(Status::Pending, 2))));
    for task in [&first, &second] {
        assert_eq!((task.state_version, task.state.as_slice()), (3, [1, 2].as_slice()));
        assert_eq!((task.digest, task.assignment.clone()), (Digest::of(b"newer"), Some(assignment.clone())));
        assert_eq!(task.blobs, blobs);
    }
    assert_eq!((storage.audit_records().len(), storage.audit_records()[0].text.as_str()), (1, "migrated"));
    assert_eq!(storage.live_tasks().next(), Some(&second));
}

#[test]
fn a_task_ends_once() {
    let mut storage = funded();
    run(&mut storage, submit(1, 0, 10)).unwrap();
    let over = Rejection::OverHold { cost: Credits(11), held: Credits(10) };
    assert_eq!(refused(&mut storage, finish(1, 0, completed(11))), over);
    assert_eq!(
        refused(&mut storage, finish(1, 0, completed(-1))),
        Rejection::malformed("cost", "expected zero or more, not -0.000001")
    );
    run(&mut storage, finish(1, 0, failed())).unwrap();
    for late in [finish(1, 0, completed(10)), finish(1, 1, completed(10)), finish(1, 1, failed())] {
        assert_eq!(refused(&mut storage, late), Rejection::Final(Status::Failed));
    }
    assert_eq!(
        refused(&mut storage, advance(1, 1, change(Status::Pending, 0))),
        Rejection::Final(Status::Failed)
    );
    assert_eq!(refused(&mut storage, submit(1, 0, 10)), Rejection::TaskExists(task_id(1)));
}

#[test]
fn a_request_hold_is_settled_released_or_swept() {
    let mut storage = funded();
    let hold = |number, amount, seconds| Command::Hold {
        id: request_id(number),
        key: key_id(1),
        amount: Credits(amount),
        unit_price: Credits(1),
        expires: START.plus(Duration::from_secs(seconds)),
        at: START,
    };
    let settle = |number, amount| Command::Settle {
        id: request_id(number),
        amount: Credits(amount),
        memo: String::new(),
        at: START,
    };
    let release = |number| Command::Release { id: request_id(number), at: START };
    let absent = |number| Rejection::NoHold(HoldId::Request(request_id(number)));
    for number in 0..4 {
        run(&mut storage, hold(number, 20, 60)).unwrap();
    }
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((220, 80, 0), 80));
    assert_eq!(refused(&mut storage, hold(0, 1, 60)), Rejection::HoldExists(HoldId::Request(request_id(0))));
    assert_eq!(
        refused(&mut storage, hold(9, 21, 60)),
        Rejection::QuotaExceeded { needed: Credits(21), remaining: Credits(20) }
    );
    assert!(matches!(refused(&mut storage, hold(9, 1, 0)), Rejection::Malformed { field: "expires", .. }));
    assert!(matches!(refused(&mut storage, hold(9, -1, 9)), Rejection::Malformed { field: "amount", .. }));
    assert!(matches!(refused(&mut storage, settle(0, 21)), Rejection::OverHold { .. }));

    run(&mut storage, settle(0, 15)).unwrap();
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((225, 60, 15), 75));
    assert_eq!(refused(&mut storage, settle(0, 15)), absent(0));
    run(&mut storage, release(1)).unwrap();
    assert_eq!(refused(&mut storage, release(1)), absent(1));
    let sweep = |seconds, limit| Command::SweepHolds { now: START.plus(Duration::from_secs(seconds)), limit };
    assert_eq!(run(&mut storage, sweep(59, 9)), Ok(Applied::Swept { removed: 0, more: false }));
    assert_eq!(run(&mut storage, sweep(60, 1)), Ok(Applied::Swept { removed: 1, more: true }));
    assert_eq!(run(&mut storage, sweep(60, 9)), Ok(Applied::Swept { removed: 1, more: false }));
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((285, 0, 15), 15));
    assert!(storage.examine().is_clean());
}

#[test]
fn the_hold_of_a_task_is_not_swept() {
    let mut storage = funded();
    run(&mut storage, submit(1, 0, 10)).unwrap();
    let sweep = Command::SweepHolds { now: UnixMs(u64::MAX), limit: 9 };
    assert_eq!(run(&mut storage, sweep), Ok(Applied::Swept { removed: 0, more: false }));
    assert_eq!(storage.holds().count(), 1);
}

#[test]
fn history_is_dropped_by_whole_days_but_not_under_a_live_task() {
    let mut storage = funded();
    // Thirds of a day apart, beginning an hour before midnight: one born on day 0, three on each day after.
    for number in 0..8 {
        run(&mut storage, submit(number, 0, 1)).unwrap();
    }
    for number in [0, 1, 2, 4, 5, 6, 7] {
        run(&mut storage, finish(number, 0, completed(1))).unwrap();
    }
    let drop = |days| Command::DropHistory { before_day: START.day() + days };
    let finished =
        |storage: &MemoryLedgerStorage| storage.finished_tasks().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!(run(&mut storage, drop(9)), Ok(Applied::Dropped(1)));
    assert_eq!(finished(&storage), [1, 2, 4, 5, 6, 7].map(task_id));
    run(&mut storage, finish(3, 0, failed())).unwrap();
    assert_eq!(run(&mut storage, drop(2)), Ok(Applied::Dropped(1)));
    assert_eq!(finished(&storage), [4, 5, 6, 7].map(task_id));
    assert_eq!(run(&mut storage, drop(2)), Ok(Applied::Dropped(0)));
    assert!(storage.examine().is_clean());
}

#[test]
fn a_lost_answer_is_repeated_only_where_that_is_harmless() {
    let call = |replay| Call {
        provider: "sample".into(),
        method: "POST".into(),
        target: Target::Path("/jobs".into()),
        headers: vec![],
        body: Payload::None,
        timeout_ms: 1000,
        replay,
        affinity: None,
        reading: Reading::Whole,
        credentials: true,
        shared: None,
    };
    assert_eq!(after_crash(&call(Replay::Safe)), AfterCrash::Resend);
    assert_eq!(after_crash(&call(Replay::Token)), AfterCrash::Resend);
    assert_eq!(after_crash(&call(Replay::Once)), AfterCrash::Refund);
}

#[test]
fn a_deadline_is_met_exactly() {
    let mut task = task(1, 0, 0, 1, START);
    let deadline = task.deadline;
    assert!(!is_overdue(&task, UnixMs(deadline.0 - 1)));
    assert!(is_overdue(&task, deadline));
    task.status = Status::Completed;
    assert!(!is_overdue(&task, deadline));
    assert_eq!(timed_out().message, "Task timeout");
}
