//! Tables: every event in every state of the machine, and when patience ends.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::contract::accepted::Stage;
use crate::contract::call::Call;
use crate::contract::context::{Context, UnixMs};
use crate::contract::failure::Failure;
use crate::contract::reply::{Outage, Reply};
use crate::contract::step::Action;
use crate::contract::submission::{Cause, Event};

const START: UnixMs = UnixMs(1_000_000);
const POLICY: Policy = Policy { faults: 2, misses: 2, losses: 2, ..Policy::DEFAULT };

fn at(seconds: u64) -> Context {
    let deadline = START.plus(Duration::from_secs(1800));
    Context { deadline, ..Context::at(START.plus(Duration::from_secs(seconds))) }
}

fn call() -> Call {
    Call::post("painter", "/v1/paint")
}

fn reply(status: u16) -> Event {
    Event::Reply(Reply::new(status, &json!({})))
}

fn cancel() -> Event {
    Event::Cancel(Cause::Client)
}

/// What follows, in short: `call`, `answer`, the second of a wait, or the sentence of a failure.
fn short<T>(next: &Next<T>) -> String {
    match next {
        Next::Answer(_) => "answer".to_owned(),
        Next::Action(Action::Call(_)) => "call".to_owned(),
        Next::Action(Action::Wait(until)) => until.since(START).as_secs().to_string(),
        Next::Action(Action::Fail(ending)) => ending.failure.message.clone(),
        Next::Action(other) => format!("{other:?}"),
    }
}

/// A submission's answer by its status.
fn submitted(reply: &Reply) -> Submitted<u16> {
    match reply.status {
        200 => Submitted::Accepted(200),
        429 => Submitted::Busy,
        _ => Submitted::Failed(Failure::request("refused")),
    }
}

/// A poll's answer by its status.
fn polled(reply: &Reply) -> Polled<u16> {
    match reply.status {
        200 => Polled::Clear(200),
        404 => Polled::Missing,
        429 => Polled::Busy,
        500 => Polled::Faulty("odd".to_owned()),
        _ => Polled::Failed(Failure::moderation("stopped")),
    }
}

fn attempt(attempts: &mut Attempts, policy: &Policy, seconds: u64, event: Event) -> String {
    short(&attempts.step(&at(seconds), policy, event, call, submitted))
}

fn poll(polls: &mut Polls, seconds: u64, event: Event) -> String {
    short(&polls.step(&at(seconds), &POLICY, event, |id| Call::get("painter", id), polled))
}

#[test]
fn a_submission_follows_every_event_while_its_call_is_out() {
    let lost = Policy::DEFAULT.lost;
    for (event, expected, stage) in [
        (reply(200), "answer", Stage::Submitted),
        (reply(429), "2", Stage::Pending),
        (reply(400), "refused", Stage::Submitted),
        (Event::Outage(Outage::Unreachable), "2", Stage::Pending),
        (Event::Outage(Outage::Timeout), lost, Stage::Submitted),
        (Event::Outage(Outage::Broken), lost, Stage::Submitted),
        (Event::Outage(Outage::TooLarge), lost, Stage::Submitted),
        (Event::Outage(Outage::Refused), Policy::DEFAULT.unavailable, Stage::Submitted),
        (cancel(), "1800", Stage::Submitted),
        (Event::Timer, Policy::DEFAULT.interrupted, Stage::Submitted),
        (Event::Start(Vec::new()), "call", Stage::Submitted),
        (Event::Probed(Vec::new()), Policy::DEFAULT.interrupted, Stage::Submitted),
        (Event::Joined(Vec::new()), Policy::DEFAULT.interrupted, Stage::Submitted),
    ] {
        let mut attempts = Attempts::default();
        let name = event.name();
        assert_eq!(attempt(&mut attempts, &POLICY, 0, event), expected, "{name}");
        assert_eq!(attempts.stage(), stage, "{name}");
    }
}

#[test]
fn a_submission_that_waits_is_sent_again_or_cancelled() {
    let waiting = || {
        let mut attempts = Attempts::default();
        assert_eq!(attempt(&mut attempts, &POLICY, 0, reply(429)), "2");
        attempts
    };
    assert_eq!(attempt(&mut waiting(), &POLICY, 1, cancel()), Policy::DEFAULT.cancelled);
    assert_eq!(waiting().keep_waiting(&at(1)), Action::Wait(START.plus(Duration::from_secs(2))));
    assert_eq!(waiting().keep_waiting(&at(5)), Action::Wait(START.plus(Duration::from_secs(5))));
    let mut attempts = waiting();
    assert_eq!(attempt(&mut attempts, &POLICY, 2, Event::Timer), "call");
    assert_eq!(attempt(&mut attempts, &POLICY, 2, cancel()), "1800", "it is out again");
    assert_eq!(attempt(&mut attempts, &POLICY, 2, reply(429)), "6", "the second rest is longer");
}

/// Without it the host takes the answer to a cancel for a fault of the family.
#[test]
fn no_wait_is_longer_than_a_host_takes() {
    let day = Duration::from_secs(24 * 60 * 60);
    let cx = Context { deadline: START.plus(3 * day), ..at(0) };
    assert_eq!(Attempts::default().keep_waiting(&cx), Action::Wait(START.plus(day)));
}

#[test]
fn a_busy_provider_is_tried_as_often_as_the_policy_says() {
    for (policy, answers) in [(Policy { retries: 2, ..POLICY }, 3), (Policy { retries: 5, ..POLICY }, 6)] {
        let mut attempts = Attempts::default();
        for _ in 1..answers {
            assert_ne!(attempt(&mut attempts, &policy, 0, reply(429)), policy.unavailable);
            assert_eq!(attempt(&mut attempts, &policy, 0, Event::Timer), "call");
        }
        assert_eq!(attempt(&mut attempts, &policy, 0, reply(429)), policy.unavailable);
    }
    let mut attempts = Attempts::default();
    for _ in 0..1000 {
        attempt(&mut attempts, &POLICY, 0, reply(429));
    }
    assert_eq!(
        attempt(&mut attempts, &POLICY, 1000, reply(429)),
        "1030",
        "the deadline ends it, nothing else"
    );
}

#[test]
fn an_unreachable_provider_is_tried_as_long_as_the_policy_says() {
    let unreachable = || Event::Outage(Outage::Unreachable);
    let mut attempts = Attempts::default();
    for (second, event, expected) in [
        (0, unreachable(), "2"),
        (299, unreachable(), "303"),
        (300, unreachable(), POLICY.unavailable),
        // An answer of any kind begins the time anew.
        (300, reply(429), "308"),
        (308, unreachable(), "324"),
        (607, unreachable(), "637"),
        (608, unreachable(), POLICY.unavailable),
    ] {
        assert_eq!(attempt(&mut attempts, &POLICY, second, event), expected, "{second}");
    }
}

#[test]
fn a_job_follows_every_event() {
    for (event, expected) in [
        (Event::Timer, "call"),
        (reply(200), "answer"),
        (reply(404), "12"),
        (reply(429), "12"),
        (reply(500), "12"),
        (reply(451), "stopped"),
        (Event::Outage(Outage::Unreachable), "12"),
        (Event::Outage(Outage::Timeout), "12"),
        (Event::Outage(Outage::Broken), "12"),
        (Event::Outage(Outage::TooLarge), "12"),
        (Event::Outage(Outage::Refused), POLICY.unavailable),
        (Event::Lost(("https://e.com/a".to_owned(), "gone".to_owned())), "12"),
        (cancel(), "12"),
        (Event::Probed(Vec::new()), POLICY.interrupted),
        (Event::Joined(Vec::new()), POLICY.interrupted),
        (Event::Start(Vec::new()), POLICY.interrupted),
    ] {
        let name = event.name();
        assert_eq!(poll(&mut Polls::new(&at(0), "j1"), 10, event), expected, "{name}");
    }
}

#[test]
fn the_call_names_the_job() {
    let mut polls = Polls::new(&at(0), "j1");
    let next = polls.step(&at(2), &POLICY, Event::Timer, |id| Call::get("painter", id), polled);
    assert_eq!(next, Next::Action(Action::Call(Call::get("painter", "j1"))));
}

/// The host writes a task only where something of it has changed, its state included.
#[test]
fn a_poll_that_learns_nothing_changes_no_state() {
    let mut polls = Polls::new(&at(0), "j1");
    polls.reach(40);
    let before = serde_json::to_value(&polls).expect("JSON");
    for (second, event, expected) in [
        (80, reply(200), "answer"),
        (80, reply(429), "90"),
        (81, cancel(), "91"),
        (90, Event::Timer, "call"),
        (160, Event::Outage(Outage::Timeout), "180"),
    ] {
        assert_eq!(poll(&mut polls, second, event), expected);
        polls.reach(30);
        assert_eq!(serde_json::to_value(&polls).expect("JSON"), before);
    }
}

#[test]
fn unclear_answers_end_the_task_when_there_are_too_many_in_a_row() {
    let lost = || Event::Lost(("https://e.com/a".to_owned(), "gone".to_owned()));
    let too_large = || Event::Outage(Outage::TooLarge);
    for (events, expected) in [
        (vec![reply(500), reply(500), reply(500)], ["2", "4", POLICY.failed]),
        (vec![too_large(), reply(500), too_large()], ["2", "4", POLICY.failed]),
        (vec![reply(404), reply(404), reply(404)], ["2", "2", POLICY.failed]),
        (vec![reply(404), reply(500), reply(404)], ["2", "2", "2"]),
        (vec![lost(), lost(), lost()], ["2", "4", POLICY.uncopied]),
        (vec![reply(429), reply(429), reply(429)], ["2", "2", "2"]),
    ] {
        let mut polls = Polls::new(&at(0), "j1");
        let followed: Vec<_> = events.into_iter().map(|event| poll(&mut polls, 0, event)).collect();
        assert_eq!(followed, expected);
    }
}

#[test]
fn a_clear_answer_forgives_all_but_lost_results() {
    let lost = || Event::Lost(("https://e.com/a".to_owned(), "gone".to_owned()));
    let mut polls = Polls::new(&at(0), "j1");
    for (event, expected) in [
        (reply(500), "2"),
        (reply(500), "4"),
        (reply(404), "2"),
        (reply(404), "2"),
        (reply(200), "answer"),
        (reply(500), "2"),
        (reply(404), "2"),
        (lost(), "2"),
        (reply(200), "answer"),
        (lost(), "4"),
        (reply(200), "answer"),
        (lost(), POLICY.uncopied),
    ] {
        assert_eq!(poll(&mut polls, 0, event), expected);
    }
}

#[test]
fn progress_never_falls() {
    let mut polls = Polls::new(&at(0), "j1");
    for (reached, expected) in [(5, 5), (40, 40), (30, 40), (95, 95)] {
        polls.reach(reached);
        assert_eq!(polls.progress(), expected);
    }
}

/// Families keep these beside their own fields, and states outlive versions: the names stay.
#[test]
fn states_keep_their_fields() {
    let attempts = json!({"rests": 1, "unreachable": null, "until": 1_002_000});
    let polls = json!({"id": "j1", "since": 1_000_000, "wake": 1_002_000, "progress": 7, "faults": 1, "misses": 2,
        "losses": 3});
    let read: Attempts = serde_json::from_value(attempts.clone()).expect("attempts");
    assert_eq!(serde_json::to_value(read).expect("JSON"), attempts);
    let read: Polls = serde_json::from_value(polls.clone()).expect("polls");
    assert_eq!(serde_json::to_value(read).expect("JSON"), polls);
    let short: Attempts = serde_json::from_value(json!({"rests": 0})).expect("optional fields may be absent");
    assert_eq!(short, Attempts::default());
}
