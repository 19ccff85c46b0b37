//! A task from its submission to its one end.

use std::time::Duration;

use gatehouse_model::{
    AccountAssignment, BlobId, Credits, Digest, FailureKind, Phase, Replay, Status, Task, UnixMs,
};

use super::{
    advance, balances, call, changed, finish, funded, last, malformed, refused, run, submit, task_of, used,
    with_task,
};
use gatehouse_sample::{START, change, completed, failed, key_id, task, task_id};
use gatehouse_tasks::{
    AfterCrash, Applied, Change, Command, EntryKind, HoldId, Idempotency, Rejection, after_crash, is_overdue,
    timed_out,
};

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
    let left = (storage.live_tasks().count(), storage.finished_tasks().count(), storage.holds().count());
    assert_eq!(left, (0, 1, 0));
    assert!(storage.examine().is_clean());
}

#[test]
fn a_failed_task_costs_nothing() {
    let mut storage = with_task(1, 40);
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
    let short = |needed, available| Rejection::InsufficientBalance {
        needed: Credits(needed),
        available: Credits(available),
    };
    let foreign = "expected the key's customer customer-0, not customer-1";
    let table = [
        (submit(0, 0, 1), Rejection::TaskExists(task_id(0))),
        (submit(1, 0, 51), short(51, 50)),
        (submit(1, 2, 61), short(61, 60)),
        (submit(1, 3, 1), Rejection::NoKey(key_id(3))),
        (changed(task(1, 0, 1, 1, START), |_| ()), malformed("task.customer", foreign)),
        (changed(task(1, 0, 0, i64::MAX, START), |task| task.charge.0[0].quantity = 2), Rejection::Overflow),
    ];
    for (command, expected) in table {
        assert_eq!(refused(&mut storage, command), expected);
    }
    let mut check = |price, alter: fn(&mut Task), field, problem: &str| {
        let command = changed(task(1, 0, 0, price, START), alter);
        assert_eq!(refused(&mut storage, command), malformed(field, problem));
    };
    let held = "task.held";
    check(1, |task| task.held = Credits(2), held, "expected the price of its lines, 0.000001, not 0.000002");
    check(-1, |_| (), held, "expected the price of its lines, 0, not -0.000001");
    let late = format!("expected a moment after {START}, not {START}");
    check(1, |task| task.deadline = START, "task.deadline", &late);
    check(1, |task| task.progress = 101, "task.progress", "expected 0 to 100, not 101");
    let ended = "expected a task that has not ended";
    check(1, |task| task.status = Status::Failed, "task.status", ended);
    check(1, |task| task.phase = Phase::Over, "task.status", ended);
    check(1, |task| task.cost = Some(Credits(1)), "task", "expected no end and no cost yet");
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

    for (minutes, forgotten) in [(19, 0), (20, 1), (20, 0)] {
        assert_eq!(super::forget(&mut storage, START.plus(Duration::from_secs(60 * minutes)), 1), forgotten);
    }
    let mut foreign = at(3, b"a", 30);
    if let Command::Submit { idempotency: Some(idempotency), .. } = &mut foreign {
        idempotency.key = key_id(1);
    }
    let wrong = malformed("idempotency.key", "expected the task's key key0, not key1");
    assert_eq!(refused(&mut storage, foreign), wrong);
}

#[test]
fn a_task_only_moves_forward() {
    let mut storage = with_task(0, 10);
    let task = task_of(run(&mut storage, advance(1, 0, change(Status::Processing, 250))));
    assert_eq!((task.status, task.progress, task.revision), (Status::Processing, 100, 1));
    let task = task_of(run(&mut storage, advance(1, 1, change(Status::Pending, 20))));
    assert_eq!((task.status, task.progress, task.revision), (Status::Processing, 100, 2));
    for late in [advance(1, 1, change(Status::Pending, 20)), finish(1, 1, completed(0))] {
        assert_eq!(refused(&mut storage, late), Rejection::Stale { current: 2 });
    }
    let unknown = advance(2, 0, change(Status::Pending, 0));
    assert_eq!(refused(&mut storage, unknown), Rejection::NoTask(task_id(2)));
    for ended in [change(Status::Completed, 0), Change { phase: Phase::Over, ..change(Status::Pending, 0) }] {
        let problem = format!("expected a task that goes on, not {}", ended.status.as_str());
        assert_eq!(refused(&mut storage, advance(1, 2, ended)), malformed("change.status", problem));
    }
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let mut storage = with_task(0, 10);
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
    let mut storage = with_task(0, 10);
    let over = Rejection::OverHold { cost: Credits(11), held: Credits(10) };
    assert_eq!(refused(&mut storage, finish(1, 0, completed(11))), over);
    let below = malformed("cost", "expected zero or more, not -0.000001");
    assert_eq!(refused(&mut storage, finish(1, 0, completed(-1))), below);
    run(&mut storage, finish(1, 0, failed())).unwrap();
    let moved = advance(1, 1, change(Status::Pending, 0));
    for late in [finish(1, 0, completed(10)), finish(1, 1, completed(10)), finish(1, 1, failed()), moved] {
        assert_eq!(refused(&mut storage, late), Rejection::Final(Status::Failed));
    }
    assert_eq!(refused(&mut storage, submit(1, 0, 10)), Rejection::TaskExists(task_id(1)));
}

#[test]
fn a_lost_answer_is_repeated_only_where_that_is_harmless() {
    assert_eq!(after_crash(&call(Replay::Safe), false), AfterCrash::Resend);
    assert_eq!(after_crash(&call(Replay::Token), false), AfterCrash::Resend);
    assert_eq!(after_crash(&call(Replay::Once), false), AfterCrash::Refund);
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
