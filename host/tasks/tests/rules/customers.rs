//! Customers, their deposits, their keys and quotas.

use gatehouse_model::{Credits, CustomerPolicy, Key, UnixMs};

use super::{
    balances, changed, finish, funded, last, malformed, over_quota, refused, run, submit, used, with_task,
};
use gatehouse_sample::{START, completed, customer_id, failed, key, key_id, task, task_id};
use gatehouse_tasks::{Applied, Command, Rejection};

#[test]
fn a_quota_bounds_its_key_and_a_release_gives_it_back() {
    let mut storage = with_task(1, 60);
    assert_eq!(refused(&mut storage, submit(2, 1, 41)), over_quota(41, 40));
    run(&mut storage, submit(2, 1, 40)).unwrap();
    run(&mut storage, finish(1, 0, failed())).unwrap();
    run(&mut storage, submit(3, 1, 60)).unwrap();
    assert_eq!(used(&storage, 1), 100);
}

#[test]
fn a_key_that_ended_admits_nothing_but_its_holds_still_resolve() {
    let mut storage = with_task(0, 5);
    run(&mut storage, Command::RevokeKey { id: key_id(0), at: START }).unwrap();
    assert_eq!(refused(&mut storage, submit(2, 0, 5)), Rejection::KeyRevoked(key_id(0)));
    // Revoking again keeps the first moment.
    run(&mut storage, Command::RevokeKey { id: key_id(0), at: UnixMs(START.0 + 1) }).unwrap();
    assert_eq!(storage.keys().next().unwrap().revoked, Some(START));
    run(&mut storage, finish(1, 0, completed(5))).unwrap();

    let expiring = Box::new(Key { expires: Some(START), ..key(3, 0, None) });
    run(&mut storage, Command::AddKey { key: expiring }).unwrap();
    let late = changed(task(2, 3, 0, 5, START), |_| ());
    assert_eq!(refused(&mut storage, late), Rejection::KeyExpired(key_id(3)));
    let early = changed(task(2, 3, 0, 5, UnixMs(START.0 - 1)), |_| ());
    assert_eq!(run(&mut storage, early), Ok(Applied::Submitted(task_id(2))));
    let unknown = Command::RevokeKey { id: key_id(9), at: START };
    assert_eq!(refused(&mut storage, unknown), Rejection::NoKey(key_id(9)));
}

#[test]
fn keys_and_accounts_are_made_once() {
    let mut storage = funded();
    let add = |key| Command::AddKey { key: Box::new(key) };
    let open = |id| Command::AddCustomer { id, policy: CustomerPolicy::default(), at: START };
    let same_digest = Key { digest: key(0, 0, None).digest, ..key(5, 0, None) };
    let spent = Key { used: Credits(1), ..key(5, 0, None) };
    for (command, expected) in [
        (open(customer_id(0)), Rejection::CustomerExists(customer_id(0))),
        (open("".into()), malformed("id", "expected a customer's name, not an empty text")),
        (add(key(0, 0, None)), Rejection::KeyExists(key_id(0))),
        (add(same_digest), Rejection::KeyExists(key_id(5))),
        (add(key(5, 7, None)), Rejection::NoCustomer(customer_id(7))),
        (add(key(5, 0, Some(-1))), malformed("quota", "expected zero or more, not -0.000001")),
        (add(spent), malformed("used", "expected a new key, not one that used 0.000001")),
    ] {
        assert_eq!(refused(&mut storage, command), expected);
    }
}

#[test]
fn deposits_move_only_what_is_free() {
    let mut storage = with_task(0, 100);
    let deposit = |amount| {
        let (customer, amount) = (customer_id(0), Credits(amount));
        Command::Deposit { customer, amount, memo: "by hand".into(), at: START }
    };
    let short = Rejection::InsufficientBalance { needed: Credits(201), available: Credits(200) };
    assert_eq!(refused(&mut storage, deposit(-201)), short);
    assert_eq!(refused(&mut storage, deposit(i64::MAX)), Rejection::Overflow);
    assert_eq!(refused(&mut storage, deposit(i64::MIN)), Rejection::Overflow);
    assert_eq!(refused(&mut storage, deposit(0)), malformed("amount", "expected more or less than zero"));
    run(&mut storage, deposit(-200)).unwrap();
    assert_eq!(balances(&storage, 0), (0, 100, 0));
    assert_eq!((last(&storage).movement.external, last(&storage).memo.as_str()), (Credits(200), "by hand"));
}
