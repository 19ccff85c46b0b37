//! Requests that join a living task: delivered once, held and billed with it, and never in the way of a step.

use bytes::Bytes;
use gatehouse_model::{BlobId, Credits, Digest, Event, Phase, Replay, Status, UnixMs};

use super::{
    advance, balances, call, changed, finish, join, last, malformed, over_quota, refused, refused_field, run,
    submit, task_of, used, with_task,
};
use gatehouse_sample::{START, change, completed, delivery, failed, join_request, key_id, task, task_id};
use gatehouse_tasks::{
    Applied, Change, Command, EntryKind, HoldId, Idempotency, JoinRequest, JudgedTask, MAX_UNDELIVERED_JOINS,
    MemoryLedgerStorage, Rejection, timed_out,
};

/// A request told apart by `moment`.
fn request(key: u8, price: i64, moment: u64) -> JoinRequest {
    join_request(key, price, UnixMs(moment))
}

/// A request that was judged by the task as it is now.
fn joined(storage: &mut MemoryLedgerStorage, number: u8, request: JoinRequest) -> Result<Applied, Rejection> {
    let judged = storage.live_tasks().find(|task| task.id == task_id(number)).map(JudgedTask::of);
    run(storage, join(number, JoinRequest { judged: judged.expect("a living task"), ..request }))
}

fn live(storage: &MemoryLedgerStorage) -> &gatehouse_model::Task {
    storage.live_tasks().next().unwrap()
}

#[test]
fn a_request_that_joins_adds_to_the_hold_and_is_settled_with_the_task() {
    let mut storage = with_task(1, 40);
    assert_eq!(joined(&mut storage, 1, request(1, 25, 1)), Ok(Applied::Joined(task_id(1))));
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((235, 65, 0), 65));
    assert_eq!((last(&storage).kind, last(&storage).movement.reserved), (EntryKind::Join, Credits(25)));
    let task = live(&storage);
    assert_eq!((task.held, task.joined_held, task.joined.len()), (Credits(65), Credits(25), 1));
    assert_eq!(task.joined[0].surface, "images.join");
    let hold = storage.holds().next().unwrap();
    assert_eq!((hold.id, hold.amount, hold.shares.len()), (HoldId::Task(task_id(1)), Credits(65), 0));
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());

    run(&mut storage, advance(1, 0, delivery(Status::Processing, 1))).unwrap();
    // Less of its own price, but all of what joined.
    let short = Rejection::UnderJoined { cost: Credits(24), joined: Credits(25) };
    assert_eq!(refused(&mut storage, finish(1, 1, completed(24))), short);
    let over = Rejection::OverHold { cost: Credits(66), held: Credits(65) };
    assert_eq!(refused(&mut storage, finish(1, 1, completed(66))), over);
    let task = task_of(run(&mut storage, finish(1, 1, completed(30))));
    assert_eq!((task.cost, task.held, task.joined_held), (Some(Credits(30)), Credits(65), Credits(25)));
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((270, 0, 30), 30));
    assert!(storage.examine().is_clean());
}

#[test]
fn each_key_pays_for_what_joined_through_it() {
    let mut storage = with_task(0, 40);
    joined(&mut storage, 1, request(1, 60, 1)).unwrap();
    joined(&mut storage, 1, request(1, 30, 2)).unwrap();
    joined(&mut storage, 1, request(0, 5, 3)).unwrap();
    assert_eq!((balances(&storage, 0), used(&storage, 0), used(&storage, 1)), ((165, 135, 0), 45, 90));
    // Key 1 may use 100, also for a task of another key.
    assert_eq!(joined(&mut storage, 1, request(1, 11, 4)), Err(over_quota(11, 10)));
    let hold = storage.holds().next().unwrap();
    let shares: Vec<_> = hold.shares.iter().map(|share| (share.key.clone(), share.amount)).collect();
    assert_eq!((shares, hold.own()), (vec![(key_id(1), Credits(90))], Some(Credits(45))));
    assert!(storage.examine().is_clean());

    let mut failing = storage.clone();
    run(&mut failing, finish(1, 0, failed())).unwrap();
    assert_eq!((balances(&failing, 0), used(&failing, 0), used(&failing, 1)), ((300, 0, 0), 0, 0));
    assert_eq!(failing.ledger().iter().filter(|row| row.kind == EntryKind::Release).count(), 2);
    assert!(failing.examine().is_clean());

    for revision in 0..3 {
        run(&mut storage, advance(1, revision, delivery(Status::Processing, 1))).unwrap();
    }
    run(&mut storage, finish(1, 3, completed(100))).unwrap();
    assert_eq!((balances(&storage, 0), used(&storage, 0), used(&storage, 1)), ((200, 0, 100), 10, 90));
    assert!(storage.examine().is_clean(), "{:?}", storage.examine());
}

#[test]
fn what_joins_is_delivered_oldest_first_and_once() {
    let mut storage = with_task(0, 1);
    joined(&mut storage, 1, request(0, 1, 11)).unwrap();
    joined(&mut storage, 1, request(0, 1, 12)).unwrap();
    let first = task_of(run(&mut storage, advance(1, 0, delivery(Status::Processing, 1))));
    assert_eq!(first.phase, Phase::Run(Event::Joined(Bytes::new())));
    assert_eq!((first.brief, first.joined.len()), (Bytes::copy_from_slice(&11_u64.to_be_bytes()), 1));
    assert_eq!(first.blobs, [BlobId::from_bits(11)]);
    // The brief stays as long as the phase hands it over, and no change makes another such event.
    let again =
        Change { phase: Phase::Run(Event::Joined(Bytes::from_static(b"x"))), ..change(Status::Pending, 0) };
    let same = task_of(run(&mut storage, advance(1, 1, again.clone())));
    assert_eq!((same.phase, same.brief.len()), (Phase::Run(Event::Joined(Bytes::new())), 8));
    let after = task_of(run(&mut storage, advance(1, 2, change(Status::Processing, 2))));
    assert_eq!((after.brief.len(), after.joined.len()), (0, 1));
    assert_eq!(refused_field(&mut storage, advance(1, 3, again)), "change.phase");
    let second = task_of(run(&mut storage, advance(1, 3, delivery(Status::Processing, 3))));
    assert_eq!((second.brief, second.joined.len()), (Bytes::copy_from_slice(&12_u64.to_be_bytes()), 0));
    assert_eq!(second.blobs, [11, 12].map(BlobId::from_bits));
    let refusal = malformed("change.deliver", "expected a request that joined; there is none");
    assert_eq!(refused(&mut storage, advance(1, 4, delivery(Status::Processing, 4))), refusal);
}

/// A reply in hand is committed at the revision its step knows, whatever joined meanwhile.
#[test]
fn a_step_under_way_keeps_its_commit_and_what_joined_meanwhile() {
    let mut storage = with_task(0, 1);
    let call = call(Replay::Once);
    let sent = Change { phase: Phase::Sent { call, at: START }, ..change(Status::Pending, 0) };
    run(&mut storage, advance(1, 0, sent)).unwrap();
    joined(&mut storage, 1, request(0, 7, 1)).unwrap();
    let blobs = Some(vec![BlobId::from_bits(3)]);
    let reply = Change { blobs, ..change(Status::Processing, 10) };
    let task = task_of(run(&mut storage, advance(1, 1, reply)));
    assert_eq!((task.phase, task.revision), (Phase::Run(Event::Timer), 2));
    assert_eq!((task.joined.len(), task.held, task.joined_held), (1, Credits(8), Credits(7)));
    // Its blobs come with its delivery.
    let task = task_of(run(&mut storage, advance(1, 2, delivery(Status::Processing, 10))));
    assert_eq!(task.blobs, [3, 1].map(BlobId::from_bits));
}

#[test]
fn a_delivery_interrupts_nothing_but_a_wait_or_a_save() {
    let mut storage = with_task(0, 1);
    joined(&mut storage, 1, request(0, 1, 1)).unwrap();
    for phase in [Phase::Run(Event::Timer), Phase::Run(Event::Start(Bytes::new())), Phase::Probe(vec![])] {
        let lossy = Change { phase, ..delivery(Status::Pending, 0) };
        let problem = "expected a wait or a save, which a request that joined may interrupt";
        assert_eq!(refused(&mut storage, advance(1, 0, lossy)), malformed("change.phase", problem));
    }
    run(&mut storage, advance(1, 0, delivery(Status::Pending, 0))).unwrap();
}

#[test]
fn a_task_does_not_complete_over_what_joined_but_it_may_fail() {
    let mut storage = with_task(0, 10);
    joined(&mut storage, 1, request(0, 5, 1)).unwrap();
    joined(&mut storage, 1, request(1, 6, 2)).unwrap();
    assert_eq!(refused(&mut storage, finish(1, 0, completed(21))), Rejection::JoinsPending(2));
    assert_eq!(refused(&mut storage, finish(1, 0, completed(10))), Rejection::JoinsPending(2));
    let task = task_of(run(&mut storage, finish(1, 0, failed())));
    assert_eq!((task.cost, task.joined.len()), (Some(Credits::ZERO), 0));
    // So that they are dropped with the blobs of the task.
    assert_eq!(task.blobs, [1, 2].map(BlobId::from_bits));
    assert_eq!((balances(&storage, 0), used(&storage, 1)), ((300, 0, 0), 0));
    assert_eq!(refused(&mut storage, join(1, request(0, 5, 3))), Rejection::Final(Status::Failed));
    assert!(storage.examine().is_clean());
}

#[test]
fn joining_is_checked_like_a_submission() {
    let mut storage = with_task(0, 250);
    run(&mut storage, submit(2, 2, 1)).unwrap();
    let doomed = changed(task(3, 0, 0, 1, START), |task| task.failure = Some(timed_out()));
    run(&mut storage, doomed).unwrap();
    run(&mut storage, submit(4, 2, 2)).unwrap();
    run(&mut storage, finish(4, 0, completed(2))).unwrap();
    run(&mut storage, Command::RevokeKey { id: key_id(1), at: START }).unwrap();
    let short = Rejection::InsufficientBalance { needed: Credits(50), available: Credits(49) };
    let dear = JoinRequest { held: Credits(2), ..request(0, 1, 1) };
    let below = "expected the price of its lines, 0, not -0.000001";
    let huge = JoinRequest { charge: gatehouse_model::Charge::of([""; 0], 2), ..request(0, i64::MAX, 1) };
    let table: Vec<(Command, Rejection)> = vec![
        (join(9, request(0, 1, 1)), Rejection::NoTask(task_id(9))),
        // Another customer's task is as unknown, living or ended.
        (join(1, request(2, 1, 1)), Rejection::NoTask(task_id(1))),
        (join(2, request(0, 1, 1)), Rejection::NoTask(task_id(2))),
        (join(4, request(0, 1, 1)), Rejection::NoTask(task_id(4))),
        (join(4, request(2, 1, 1)), Rejection::Final(Status::Completed)),
        (join(3, request(0, 1, 1)), Rejection::Final(Status::Failed)),
        (join(1, request(7, 1, 1)), Rejection::NoKey(key_id(7))),
        (join(1, request(1, 1, 1)), Rejection::KeyRevoked(key_id(1))),
        (join(1, request(0, 50, 1)), short),
        (join(1, dear), malformed("request.held", "expected the price of its lines, 0.000001, not 0.000002")),
        (join(1, request(0, -1, 1)), malformed("request.held", below)),
        (join(1, huge), Rejection::Overflow),
    ];
    for (command, expected) in table {
        assert_eq!(refused(&mut storage, command), expected);
    }
}

/// Two requests judged by one state of the task: the second must be judged again.
#[test]
fn a_request_joins_the_task_it_was_judged_by() {
    let mut storage = with_task(0, 1);
    let judged = |revision, undelivered| JoinRequest {
        judged: JudgedTask { revision, undelivered },
        ..request(0, 5, revision)
    };
    run(&mut storage, join(1, judged(0, 0))).unwrap();
    let stale = |current| Rejection::Stale { current };
    assert_eq!(refused(&mut storage, join(1, judged(0, 0))), stale(0), "nothing is held for it");
    run(&mut storage, advance(1, 0, delivery(Status::Processing, 1))).unwrap();
    for (revision, undelivered) in [(0, 0), (0, 1), (1, 1), (2, 0)] {
        assert_eq!(refused(&mut storage, join(1, judged(revision, undelivered))), stale(1));
    }
    run(&mut storage, join(1, judged(1, 0))).unwrap();
    assert_eq!((live(&storage).joined_held, live(&storage).joined.len()), (Credits(10), 1));
    assert!(storage.examine().is_clean());
}

#[test]
fn what_joins_has_a_time_limit_of_its_own() {
    let mut storage = with_task(0, 1);
    let first = live(&storage).deadline;
    let until = |deadline| JoinRequest { deadline, ..request(0, 5, deadline.0) };
    let later = UnixMs(first.0 + 1);
    for (deadline, expected) in [(UnixMs(first.0 - 1), first), (later, later), (first, later)] {
        joined(&mut storage, 1, until(deadline)).unwrap();
        assert_eq!(live(&storage).deadline, expected);
        assert_eq!(storage.holds().next().unwrap().expires, expected);
    }
    run(&mut storage, advance(1, 0, delivery(Status::Processing, 1))).unwrap();
    assert_eq!(live(&storage).deadline, later, "no change of the task takes it back");
}

#[test]
fn no_more_join_than_a_task_can_take_in() {
    let mut storage = with_task(0, 1);
    for moment in 0..MAX_UNDELIVERED_JOINS as u64 {
        joined(&mut storage, 1, request(0, 0, moment)).unwrap();
    }
    let full = Rejection::JoinsFull(MAX_UNDELIVERED_JOINS);
    assert_eq!(refused(&mut storage, join(1, request(0, 0, 99))), full);
    run(&mut storage, advance(1, 0, delivery(Status::Pending, 0))).unwrap();
    joined(&mut storage, 1, request(0, 0, 99)).unwrap();
    assert!(storage.examine().is_clean());
}

#[test]
fn a_repeated_join_is_the_same_join() {
    let mut storage = with_task(0, 1);
    let asked = |fingerprint: &[u8], key: u8, at: u64| Command::Join {
        parent: task_id(1),
        request: Box::new(request(0, 5, at)),
        idempotency: Some(Idempotency {
            key: key_id(key),
            token: Digest::of(b"token"),
            fingerprint: Digest::of(fingerprint),
            expires: UnixMs(START.0 + 100),
        }),
        at: UnixMs(START.0 + at),
    };
    assert_eq!(run(&mut storage, asked(b"a", 0, 0)), Ok(Applied::Joined(task_id(1))));
    let before = storage.clone();
    assert_eq!(run(&mut storage, asked(b"a", 0, 99)), Ok(Applied::Repeated(task_id(1))));
    assert_eq!(storage, before);
    assert_eq!(storage.idempotency_records().next().unwrap().task, task_id(1));
    assert_eq!(refused(&mut storage, asked(b"b", 0, 99)), Rejection::IdempotencyConflict);
    assert_eq!(refused_field(&mut storage, asked(b"a", 1, 0)), "idempotency.key");
    // A receipt that was given stays good after the task's end.
    let mut ended = storage.clone();
    run(&mut ended, finish(1, 0, failed())).unwrap();
    assert_eq!(run(&mut ended, asked(b"a", 0, 99)), Ok(Applied::Repeated(task_id(1))));
    // A submission of the same token meets it too.
    let Command::Join { idempotency, .. } = asked(b"a", 0, 0) else { panic!("a join") };
    let submitted = Command::Submit { task: Box::new(task(2, 0, 0, 1, START)), idempotency };
    assert_eq!(run(&mut storage, submitted), Ok(Applied::Repeated(task_id(1))));
    // From its expiry on it counts as absent.
    assert_eq!(refused(&mut storage, asked(b"b", 0, 100)), Rejection::Stale { current: 0 });
    let mut late = asked(b"b", 0, 100);
    let Command::Join { request, .. } = &mut late else { panic!("a join") };
    request.judged = JudgedTask::of(live(&storage));
    assert_eq!(run(&mut storage, late), Ok(Applied::Joined(task_id(1))));
    assert_eq!((live(&storage).joined.len(), live(&storage).joined_held), (2, Credits(10)));
    assert_eq!(storage.idempotency_records().count(), 1);
}
