//! Calls whose outcome nobody knows: who is asked about them, and what a ruling may do (I3, I4, I13).

use gatehouse_model::{Event, FailureKind, Outage, Phase, Reading, Status, UnixMs};
use proptest::prelude::*;

use super::*;
use gatehouse_sample::{change, command_sequences, completed, failed, join_request, ruled};
use gatehouse_tasks::{
    AfterCrash, JudgedTask, MAX_RULING_REASON, Reconciliation, after_crash, asks_after_outage,
};

/// Task 1, whose call was lost, at revision 2.
fn lost() -> MemoryLedgerStorage {
    let mut storage = with_task(0, 5);
    let sent = Phase::Sent { call: sent_call(), at: START };
    run(&mut storage, advance(1, 0, Change { phase: sent, ..change(Status::Pending, 10) })).unwrap();
    run(&mut storage, advance(1, 1, Change { phase: ambiguous(), ..change(Status::Pending, 10) })).unwrap();
    storage
}

fn ambiguous() -> Phase {
    Phase::Ambiguous { call: sent_call(), at: START, outage: Some(Outage::Broken) }
}

fn ruling_at(ruling: Reconciliation, revision: Option<u64>, at: UnixMs) -> Command {
    let reason = "seen in their console".to_owned();
    Command::Reconcile { id: task_id(1), revision, ruling, reason, deadline: START, at }
}

/// A ruling to fail the task of that number, for that reason.
fn failing(number: u8, reason: impl Into<String>) -> Command {
    let (ruling, reason) = (Reconciliation::Fail, reason.into());
    Command::Reconcile { id: task_id(number), revision: None, ruling, reason, deadline: START, at: START }
}

fn ruling(ruling: Reconciliation) -> Command {
    ruling_at(ruling, None, START.plus(STEP))
}

fn notes(storage: &MemoryLedgerStorage) -> Vec<&str> {
    storage.audit_records().iter().filter(|row| row.task.is_some()).map(|row| row.text.as_str()).collect()
}

#[test]
fn only_a_call_that_left_and_may_not_be_repeated_is_asked_about() {
    let policy = |replay, asks| after_crash(&call(replay), asks);
    assert_eq!(policy(Replay::Once, true), AfterCrash::Ask);
    assert_eq!(policy(Replay::Once, false), AfterCrash::Refund);
    for asks in [false, true] {
        assert_eq!(policy(Replay::Token, asks), AfterCrash::Resend);
        assert_eq!(policy(Replay::Safe, asks), AfterCrash::Resend);
    }
    let all = [Outage::Unreachable, Outage::Timeout, Outage::Broken, Outage::TooLarge, Outage::Refused];
    let asked = |replay, asks| all.map(|outage| asks_after_outage(&call(replay), outage, asks));
    assert_eq!(asked(Replay::Once, true), [false, true, true, true, false]);
    assert_eq!(asked(Replay::Once, false), [false; 5]);
    assert_eq!(asked(Replay::Token, true), [false; 5], "the plugin sends it again");
}

#[test]
fn a_call_is_ambiguous_only_once_it_was_sent() {
    let mut storage = with_task(0, 5);
    let ask = |revision, phase| advance(1, revision, Change { phase, ..change(Status::Pending, 0) });
    assert_eq!(refused_field(&mut storage, ask(0, ambiguous())), "change.phase");
    run(&mut storage, ask(0, Phase::Sent { call: call(Replay::Token), at: START })).unwrap();
    refused(&mut storage, ask(1, ambiguous()));
    assert_eq!(refused(&mut storage, ruling(Reconciliation::Resend)), Rejection::NotAmbiguous(task_id(1)));
}

#[test]
fn nothing_but_a_ruling_or_a_bad_end_leads_on() {
    let mut storage = lost();
    let expected = Rejection::Ambiguous(task_id(1));
    assert_eq!(refused(&mut storage, advance(1, 2, change(Status::Pending, 20))), expected);
    let sent = Change { phase: Phase::Sent { call: sent_call(), at: START }, ..change(Status::Pending, 0) };
    assert_eq!(refused(&mut storage, advance(1, 2, sent)), expected);
    assert_eq!(refused(&mut storage, finish(1, 2, completed(5))), expected);
    let over = task_of(run(&mut storage, finish(1, 2, failed())));
    assert_eq!((over.status, over.cost.map(|cost| cost.0)), (Status::Failed, Some(0)));
    assert_eq!(balances(&storage, 0), (300, 0, 0));
    assert_eq!(refused(&mut storage, ruling(Reconciliation::Resend)), Rejection::Final(Status::Failed));
}

#[test]
fn a_call_is_sent_again_once_for_each_ruling() {
    let mut storage = lost();
    let task = task_of(run(&mut storage, ruling(Reconciliation::Resend)));
    assert_eq!((task.phase, task.revision), (Phase::Call(sent_call()), 3));
    assert_eq!((task.status, task.progress), (Status::Pending, 10), "its client sees no difference");
    assert_eq!(refused(&mut storage, ruling(Reconciliation::Resend)), Rejection::NotAmbiguous(task_id(1)));
    assert_eq!(balances(&storage, 0), (295, 5, 0), "its money stays held");
    let notes = notes(&storage);
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("ambiguous POST to sample") && notes[0].ends_with("resend: seen in their console")
    );
}

#[test]
fn a_ruling_to_fail_gives_everything_back_and_tells_the_client_why() {
    let mut storage = lost();
    let task = task_of(run(&mut storage, ruling(Reconciliation::Fail)));
    let failure = task.failure.unwrap();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Upstream, "seen in their console"));
    assert_eq!((task.status, task.cost.map(|cost| cost.0)), (Status::Failed, Some(0)));
    assert_eq!(balances(&storage, 0), (300, 0, 0));
    assert_eq!(refused(&mut storage, ruling(Reconciliation::Fail)), Rejection::Final(Status::Failed));
    assert!(storage.examine().is_clean());
}

#[test]
fn a_reply_that_is_adopted_is_the_plugins_next_event() {
    let mut storage = lost();
    let Reconciliation::Adopt { reply, blobs } = ruled(2) else { panic!("the third ruling") };
    let task = task_of(run(&mut storage, ruling(ruled(2))));
    assert_eq!((task.phase, task.blobs), (Phase::Run(Event::Reply(reply)), blobs));
    assert_eq!(refused(&mut storage, ruling(ruled(2))), Rejection::NotAmbiguous(task_id(1)));
}

#[test]
fn a_reply_that_is_kept_as_a_file_cannot_be_adopted() {
    let mut storage = with_task(0, 5);
    let saved = Call { reading: Reading::Saved, ..sent_call() };
    let moved = |revision, phase| advance(1, revision, Change { phase, ..change(Status::Pending, 0) });
    run(&mut storage, moved(0, Phase::Sent { call: saved.clone(), at: START })).unwrap();
    run(&mut storage, moved(1, Phase::Ambiguous { call: saved, at: START, outage: None })).unwrap();
    assert_eq!(refused(&mut storage, ruling(ruled(2))), Rejection::NotAdoptable(task_id(1)));
    run(&mut storage, ruling(Reconciliation::Resend)).unwrap();
}

#[test]
fn a_ruling_comes_in_time_for_what_its_operator_saw_and_with_a_reason() {
    let mut storage = lost();
    let deadline = START.plus(Duration::from_secs(1800));
    for number in 0..3 {
        let late = ruling_at(ruled(number), None, deadline);
        assert_eq!(refused(&mut storage, late), Rejection::RulingTooLate(task_id(1)));
        let stale = ruling_at(ruled(number), Some(1), START);
        assert_eq!(refused(&mut storage, stale), Rejection::Stale { current: 2 });
    }
    assert_eq!(refused(&mut storage, failing(9, "x")), Rejection::NoTask(task_id(9)));
    for reason in [String::new(), " ".to_owned(), "x".repeat(MAX_RULING_REASON + 1)] {
        assert_eq!(refused_field(&mut storage, failing(1, reason)), "reason");
    }
    let last = UnixMs(deadline.0 - 1);
    run(&mut storage, ruling_at(Reconciliation::Resend, Some(2), last)).unwrap();
}

/// The row has the wall clock's deadline. Without the later one an operator would be refused for hours of a task that lives.
#[test]
fn a_task_whose_clock_was_set_forward_takes_a_ruling_until_its_own_time_is_over() {
    let hour = Duration::from_secs(3600);
    let by_row = START.plus(Duration::from_secs(1800));
    let later = by_row.plus(hour);
    for (at, in_time) in [(by_row, true), (UnixMs(later.0 - 1), true), (later, false)] {
        let mut storage = lost();
        let reason = "seen in their console".to_owned();
        let (id, ruling) = (task_id(1), Reconciliation::Resend);
        let command = Command::Reconcile { id, revision: None, ruling, reason, deadline: later, at };
        match in_time {
            true => drop(run(&mut storage, command).unwrap()),
            false => assert_eq!(refused(&mut storage, command), Rejection::RulingTooLate(id)),
        }
    }
}

#[test]
fn a_request_joins_while_the_call_is_ambiguous_and_gives_the_operator_time() {
    let mut storage = lost();
    let id = task_id(1);
    let at = START.plus(STEP);
    let mut request = join_request(0, 7, at);
    request.judged = JudgedTask { revision: 2, undelivered: 0 };
    let join = Command::Join { parent: id, request: Box::new(request), idempotency: None, at };
    assert_eq!(run(&mut storage, join), Ok(Applied::Joined(id)));
    let deadline = START.plus(Duration::from_secs(1800));
    let task = task_of(run(&mut storage, ruling_at(Reconciliation::Fail, Some(2), deadline)));
    assert_eq!(task.status, Status::Failed);
    assert_eq!(balances(&storage, 0), (300, 0, 0), "what joined is given back, too");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// I13: a call that was lost leaves again only by a ruling, each ruling moves it once, and each is on record.
    #[test]
    fn a_lost_call_leaves_again_as_often_as_was_ruled(templates in command_sequences(60)) {
        let mut rulings = 0;
        let storage = play(&templates, |storage, command| {
            let is_lost = |task: &Task, id| task.id == id && task.phase.ambiguous_call().is_some();
            let before = command.task().filter(|id| storage.live_tasks().any(|task| is_lost(task, *id)));
            let resends = matches!(&command, Command::Reconcile { ruling: Reconciliation::Resend, .. });
            let is_ruling = matches!(&command, Command::Reconcile { .. });
            if run(storage, command.clone()).is_err() {
                return;
            }
            rulings += usize::from(is_ruling);
            let Some(id) = before else {
                assert!(!is_ruling, "{command:?}");
                return;
            };
            let now = storage.live_tasks().find(|task| task.id == id);
            match now.map(|task| &task.phase) {
                Some(Phase::Ambiguous { .. }) => assert!(!is_ruling),
                Some(Phase::Call(_)) => assert!(resends),
                Some(Phase::Run(Event::Reply(_))) => assert!(is_ruling && !resends),
                None => {
                    let ended = storage.finished_tasks().find(|task| task.id == id).unwrap();
                    assert_eq!((ended.status, ended.cost.map(|cost| cost.0)), (Status::Failed, Some(0)));
                }
                other => panic!("{command:?} led to {other:?}"),
            }
        });
        let ruled = notes(&storage).iter().filter(|text| text.starts_with("ruled by an operator")).count();
        prop_assert_eq!(ruled, rulings);
    }
}
