//! Keys that are edited, rotated, and limited in what they have open.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_model::{Credits, KeyId, KeyPolicy, Limits, UnixMs};

use super::{
    finish, funded, join, key_row, over_quota, refused, refused_field, run, submit, used, with_task,
};
use gatehouse_sample::{START, completed, digest, failed, join_request, key_id, request_id};
use gatehouse_tasks::{Applied, Command, MAX_OVERLAP, MemoryLedgerStorage, Rejection};

/// An edit based on the present row.
fn edit(storage: &MemoryLedgerStorage, number: u8, change: impl FnOnce(&mut KeyPolicy)) -> Command {
    let row = key_row(storage, number);
    let mut policy = Box::new(row.policy());
    change(&mut policy);
    Command::EditKey { id: key_id(number), revision: row.revision, policy, at: START }
}

fn rotate(number: u8, new: u8, overlap: Duration) -> Command {
    let (id, digest, new, until) = (key_id(number), digest(new), key_id(new), START.plus(overlap));
    Command::RotateKey { id, new, digest, until, at: START }
}

fn hold(request: u8, key: u8, amount: i64, model: &str) -> Command {
    gatehouse_sample::hold(request_id(request), (key, model), amount, (START, Duration::from_secs(60)))
}

fn most(concurrency: u32) -> Limits {
    Limits { concurrency: NonZeroU32::new(concurrency), ..Limits::default() }
}

#[test]
fn an_edit_replaces_the_policy_of_the_row_it_was_made_for() {
    let mut storage = funded();
    let command = edit(&storage, 1, |policy| {
        *policy = KeyPolicy {
            name: "new".into(),
            quota: None,
            models: vec!["a".into()],
            networks: vec!["::1/128".parse().unwrap()],
            expires: Some(UnixMs(START.0 + 5)),
            limits: most(3),
            ..policy.clone()
        };
    });
    let Ok(Applied::Key(edited)) = run(&mut storage, command.clone()) else { panic!("the key") };
    assert_eq!(&*edited, key_row(&storage, 1));
    let Command::EditKey { policy, .. } = &command else { panic!("an edit") };
    assert_eq!((edited.policy(), edited.revision), (*policy.clone(), 1));
    let stale = Rejection::KeyChanged { key: key_id(1), given: 0, current: 1 };
    assert_eq!(refused(&mut storage, command.clone()), stale);
    assert!(stale.to_string().contains("it is at revision 1, not 0"), "{stale}");

    let negative = edit(&storage, 1, |policy| policy.quota = Some(Credits(-1)));
    assert_eq!(refused_field(&mut storage, negative), "quota");
    let revoke = Command::RevokeKey { id: key_id(1), at: START };
    let Ok(Applied::Key(revoked)) = run(&mut storage, revoke) else { panic!("the key") };
    assert_eq!((&*revoked, revoked.revision), (key_row(&storage, 1), 2));
    let late = edit(&storage, 1, |policy| policy.name = "later".into());
    assert_eq!(refused(&mut storage, late), Rejection::KeyRevoked(key_id(1)));
    let unknown = Command::EditKey { id: key_id(9), revision: 0, policy: Box::default(), at: START };
    assert_eq!(refused(&mut storage, unknown), Rejection::NoKey(key_id(9)));
}

#[test]
fn a_quota_below_what_is_used_blocks_until_it_is_raised() {
    let mut storage = with_task(1, 60);
    let lower = edit(&storage, 1, |policy| policy.quota = Some(Credits(10)));
    run(&mut storage, lower).unwrap();
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
    let none = over_quota(1, 0);
    assert_eq!(refused(&mut storage, submit(2, 1, 1)), none);
    // Given back, it is not there again before all of the excess is.
    run(&mut storage, finish(1, 0, completed(5))).unwrap();
    run(&mut storage, submit(2, 1, 5)).unwrap();
    assert_eq!(refused(&mut storage, submit(3, 1, 1)), none);
    let clear = edit(&storage, 1, |policy| policy.quota = None);
    run(&mut storage, clear).unwrap();
    run(&mut storage, submit(3, 1, 100)).unwrap();
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
}

#[test]
fn both_keys_of_a_rotation_spend_one_quota() {
    let mut storage = with_task(1, 30);
    let Ok(Applied::Key(new)) = run(&mut storage, rotate(1, 4, MAX_OVERLAP)) else { panic!("the new key") };
    let old = key_row(&storage, 1);
    assert_eq!((&new.name, new.quota, new.used, new.expires), (&old.name, old.quota, old.used, None));
    assert_eq!((new.rotated_from.clone(), new.lineage(), new.revision), (Some(key_id(1)), &key_id(1), 0));
    assert_eq!((old.rotated_to.clone(), old.revision), (Some(key_id(4)), 1));
    assert_eq!(old.expires, Some(START.plus(MAX_OVERLAP)));

    // 30 of 100 are held. 40 through each of the two would be more than the quota.
    run(&mut storage, hold(1, 4, 40, "model-0")).unwrap();
    assert_eq!(refused(&mut storage, hold(2, 1, 40, "model-0")), over_quota(40, 30));
    run(&mut storage, hold(2, 1, 30, "model-0")).unwrap();
    assert_eq!((used(&storage, 1), used(&storage, 4)), (60, 100));
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
    // What the old key gives back, the new one has.
    run(&mut storage, finish(1, 0, failed())).unwrap();
    assert_eq!((used(&storage, 1), used(&storage, 4)), (30, 70));
    run(&mut storage, hold(3, 4, 30, "model-0")).unwrap();
    // A further rotation goes on with all of it.
    run(&mut storage, rotate(4, 5, Duration::ZERO)).unwrap();
    run(&mut storage, Command::Release { id: request_id(2), at: START }).unwrap();
    assert_eq!((used(&storage, 1), used(&storage, 4), used(&storage, 5)), (0, 70, 70));
    assert_eq!(key_row(&storage, 5).lineage(), &key_id(1));
    // A statement by key goes on from that key's own rows.
    let mut sums: BTreeMap<&KeyId, i64> = BTreeMap::new();
    for (entry, after) in storage.ledger().iter().zip(storage.balances_after()) {
        let Some(key) = &entry.key else { continue };
        let sum = sums.entry(key).or_default();
        *sum += entry.movement.reserved.0 + entry.movement.spent.0;
        assert_eq!(after.used, Some(Credits(*sum)), "row {}", entry.seq);
    }
    assert_eq!((sums[&key_id(1)], sums[&key_id(4)]), (0, 70));
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
}

#[test]
fn a_task_that_both_keys_of_a_rotation_joined_resolves_for_both() {
    let mut storage = with_task(1, 30);
    run(&mut storage, rotate(1, 4, MAX_OVERLAP)).unwrap();
    run(&mut storage, join(1, join_request(4, 20, START))).unwrap();
    assert_eq!((used(&storage, 1), used(&storage, 4)), (30, 50));
    run(&mut storage, finish(1, 0, failed())).unwrap();
    assert_eq!((used(&storage, 1), used(&storage, 4)), (0, 0));
    assert!(key_row(&storage, 4).open.is_empty());
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
}

#[test]
fn a_rotation_needs_a_key_that_works_and_has_no_successor() {
    let mut storage = funded();
    let too_long = MAX_OVERLAP + Duration::from_millis(1);
    assert_eq!(refused_field(&mut storage, rotate(1, 4, too_long)), "until");
    assert_eq!(refused(&mut storage, rotate(1, 2, MAX_OVERLAP)), Rejection::KeyExists(key_id(2)));
    assert_eq!(refused(&mut storage, rotate(9, 4, MAX_OVERLAP)), Rejection::NoKey(key_id(9)));
    run(&mut storage, rotate(1, 4, Duration::ZERO)).unwrap();
    assert_eq!(refused(&mut storage, submit(2, 1, 1)), Rejection::KeyExpired(key_id(1)));
    assert_eq!(refused(&mut storage, rotate(1, 5, MAX_OVERLAP)), Rejection::KeyExpired(key_id(1)));
    run(&mut storage, rotate(4, 5, MAX_OVERLAP)).unwrap();
    let rotated = Rejection::KeyRotated { key: key_id(4), to: key_id(5) };
    assert_eq!(refused(&mut storage, rotate(4, 6, MAX_OVERLAP)), rotated);
    let quota = edit(&storage, 4, |policy| policy.quota = None);
    assert_eq!(refused(&mut storage, quota), rotated);
    let name = edit(&storage, 4, |policy| policy.name = "old".into());
    run(&mut storage, name).unwrap();
    // It ends no later than it would have anyway.
    let early = edit(&storage, 5, |policy| policy.expires = Some(UnixMs(START.0 + 1)));
    run(&mut storage, early).unwrap();
    run(&mut storage, rotate(5, 6, MAX_OVERLAP)).unwrap();
    for number in [5, 6] {
        assert_eq!(key_row(&storage, number).expires, Some(UnixMs(START.0 + 1)));
    }
    run(&mut storage, Command::RevokeKey { id: key_id(6), at: START }).unwrap();
    assert_eq!(refused(&mut storage, rotate(6, 7, MAX_OVERLAP)), Rejection::KeyRevoked(key_id(6)));
}

#[test]
fn live_tasks_and_open_texts_are_limited_before_money_is() {
    let mut storage = funded();
    let limit = edit(&storage, 1, |policy| {
        policy.limits = most(2);
        policy.quota = Some(Credits(10));
    });
    run(&mut storage, limit).unwrap();
    run(&mut storage, submit(1, 1, 5)).unwrap();
    run(&mut storage, hold(1, 1, 5, "model-1")).unwrap();
    let full = Rejection::TooManyOpen { key: key_id(1), limit: NonZeroU32::new(2).unwrap(), model: None };
    assert_eq!(full.to_string(), "key key1 may have 2 tasks and text requests at a time");
    // The quota is used up too; waiting comes first.
    for command in [submit(2, 1, 5), hold(2, 1, 5, "model-1")] {
        assert_eq!(refused(&mut storage, command), full);
    }
    // What joins a task is part of it.
    run(&mut storage, join(1, join_request(1, 0, START))).unwrap();
    run(&mut storage, Command::Release { id: request_id(1), at: START }).unwrap();
    run(&mut storage, hold(2, 1, 5, "model-1")).unwrap();
    // The sweep of expired holds makes room too.
    assert_eq!(super::forget(&mut storage, UnixMs(START.0 + 60_000), 9), 1);
    assert_eq!(key_row(&storage, 1).open, [("model-1".to_owned(), 1)].into());
    run(&mut storage, finish(1, 0, failed())).unwrap();
    assert!(key_row(&storage, 1).open.is_empty());
}

#[test]
fn a_models_limit_holds_beside_the_keys_and_for_both_keys_of_a_rotation() {
    let mut storage = funded();
    let limit = edit(&storage, 1, |policy| {
        policy.limits = most(3);
        policy.model_limits = [("model-0".to_owned(), most(1))].into();
    });
    run(&mut storage, limit).unwrap();
    run(&mut storage, hold(0, 1, 1, "model-0")).unwrap();
    let of_model =
        Rejection::TooManyOpen { key: key_id(1), limit: NonZeroU32::MIN, model: Some("model-0".to_owned()) };
    assert!(of_model.to_string().contains("text requests of model \"model-0\" at a time"), "{of_model}");
    assert_eq!(refused(&mut storage, hold(1, 1, 1, "model-0")), of_model);
    run(&mut storage, rotate(1, 4, MAX_OVERLAP)).unwrap();
    let full = refused(&mut storage, hold(1, 4, 1, "model-0"));
    assert!(matches!(full, Rejection::TooManyOpen { model: Some(_), .. }), "{full}");
    run(&mut storage, hold(1, 4, 1, "model-1")).unwrap();
    run(&mut storage, hold(2, 1, 1, "model-1")).unwrap();
    for key in [1, 4] {
        let full = refused(&mut storage, hold(3, key, 1, "model-1"));
        assert!(matches!(full, Rejection::TooManyOpen { model: None, .. }), "{full}");
    }
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
}
