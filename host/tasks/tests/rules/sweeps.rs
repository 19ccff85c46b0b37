//! Holds of requests, and what is swept and dropped in time.

use std::time::Duration;

use gatehouse_model::{Credits, Digest, UnixMs};

use super::{
    balances, finish, forget, funded, over_quota, refused, refused_field, run, submit, used, with_task,
};
use gatehouse_sample::{
    START, completed, customer_id, failed, hold, key_id, request_id, settle, task, task_id,
};
use gatehouse_tasks::{Applied, Command, ExpiredRow, HoldId, Idempotency, MemoryLedgerStorage, Rejection};

#[test]
fn a_request_hold_is_settled_released_or_swept() {
    let mut storage = funded();
    let hold = |number, amount, seconds| {
        let lasts = (START, Duration::from_secs(seconds));
        hold(request_id(number), (1, "model-0"), amount, lasts)
    };
    let settle = |number, amount| settle(request_id(number), amount, START);
    let release = |number| Command::Release { id: request_id(number), at: START };
    let absent = |number| Rejection::NoHold(HoldId::Request(request_id(number)));
    for number in 0..4 {
        run(&mut storage, hold(number, 20, 60)).unwrap();
    }
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((220, 80, 0), 80));
    assert_eq!(refused(&mut storage, hold(0, 1, 60)), Rejection::HoldExists(HoldId::Request(request_id(0))));
    assert_eq!(refused(&mut storage, hold(9, 21, 60)), over_quota(21, 20));
    assert_eq!(refused_field(&mut storage, hold(9, 1, 0)), "expires");
    assert_eq!(refused_field(&mut storage, hold(9, -1, 9)), "amount");

    run(&mut storage, settle(0, 15)).unwrap();
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((225, 60, 15), 75));
    assert_eq!(refused(&mut storage, settle(0, 15)), absent(0));
    run(&mut storage, release(1)).unwrap();
    assert_eq!(refused(&mut storage, release(1)), absent(1));
    for (seconds, limit, forgotten) in [(59, 9, 0), (60, 1, 1), (60, 9, 1)] {
        assert_eq!(forget(&mut storage, START.plus(Duration::from_secs(seconds)), limit), forgotten);
    }
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((285, 0, 15), 15));
    assert!(storage.examine().is_clean());
}

/// Without it a provider's count above the hold is the operator's cost, however much the customer has.
#[test]
fn a_request_costs_more_than_its_hold_as_far_as_balance_and_quota_go() {
    // 300 credits, a quota of 100.
    for (held, cost, paid, unpaid) in
        [(20, 20, 20, 0), (20, 21, 21, 0), (20, 100, 100, 0), (20, 140, 100, 40), (0, 7, 7, 0)]
    {
        let mut storage = funded();
        let lasts = (START, Duration::from_secs(60));
        let hold = |number, key, amount| hold(request_id(number), (key, "model-0"), amount, lasts);
        let settle = |number, amount| settle(request_id(number), amount, START);
        run(&mut storage, hold(0, 1, held)).unwrap();
        let settled = Applied::Settled { paid: Credits(paid), unpaid: Credits(unpaid) };
        assert_eq!(run(&mut storage, settle(0, cost)), Ok(settled));
        assert_eq!((balances(&storage, 0), used(&storage, 1)), ((300 - paid, 0, paid), paid));
        let lines: Vec<&str> = storage.audit_records().iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines.len(), usize::from(unpaid > 0), "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("are the operator's cost")), "{lines:?}");
        assert!(storage.examine().is_clean());
        // What others hold is not taken: 300 of one customer, without a quota.
        let mut storage = funded();
        run(&mut storage, hold(0, 0, held)).unwrap();
        run(&mut storage, hold(1, 0, 300 - held)).unwrap();
        let settled =
            Applied::Settled { paid: Credits(held.min(cost)), unpaid: Credits((cost - held).max(0)) };
        assert_eq!(run(&mut storage, settle(0, cost)), Ok(settled));
        assert!(storage.examine().is_clean());
    }
}

/// What was read as expired may have changed since, and may be another's. Without these checks a row would be forgotten that
/// is still needed, or by a command that another customer's owner gave.
#[test]
fn what_is_not_expired_or_anothers_stays() {
    let mut storage = funded();
    let token = Digest::of(b"token");
    let expires = START.plus(Duration::from_secs(60));
    let (key, fingerprint) = (key_id(0), Digest::of(b"f"));
    let idempotency = Some(Idempotency { key: key.clone(), token, fingerprint, expires });
    run(&mut storage, Command::Submit { task: Box::new(task(1, 0, 0, 5, START)), idempotency }).unwrap();
    let (id, amount, model) = (request_id(1), Credits(5), "model-0".to_owned());
    run(&mut storage, Command::Hold { id, key: key.clone(), model, amount, expires, at: START }).unwrap();
    let rows = vec![
        ExpiredRow::Hold(id),
        ExpiredRow::Hold(request_id(2)),
        ExpiredRow::Idempotency { key, token },
        ExpiredRow::Response("none".to_owned()),
        ExpiredRow::AdminIdempotency(token),
    ];
    let forget = |customer: Option<u8>, at| Command::Forget {
        customer: customer.map(customer_id),
        rows: rows.clone(),
        at,
    };
    let before = storage.clone();
    for command in [forget(Some(0), UnixMs(expires.0 - 1)), forget(Some(1), expires), forget(None, expires)] {
        assert_eq!(run(&mut storage, command), Ok(Applied::Forgotten(0)));
        assert_eq!(storage, before);
    }
    assert_eq!(run(&mut storage, forget(Some(0), expires)), Ok(Applied::Forgotten(2)));
    assert_eq!((balances(&storage, 0), storage.idempotency_records().count()), ((295, 5, 0), 0));
    assert!(storage.examine().is_clean());
}

#[test]
fn the_hold_of_a_task_is_not_swept() {
    let mut storage = with_task(0, 10);
    assert_eq!(forget(&mut storage, UnixMs(u64::MAX), 9), 0);
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
    let finished =
        |storage: &MemoryLedgerStorage| storage.finished_tasks().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!(storage.drop_history(START.day() + 9), 1);
    assert_eq!(finished(&storage), [1, 2, 4, 5, 6, 7].map(task_id));
    run(&mut storage, finish(3, 0, failed())).unwrap();
    assert_eq!(storage.drop_history(START.day() + 2), 1);
    assert_eq!(finished(&storage), [4, 5, 6, 7].map(task_id));
    assert_eq!(storage.drop_history(START.day() + 2), 0);
    assert!(storage.examine().is_clean());
}
