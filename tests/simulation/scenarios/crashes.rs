//! Every crash point of the step protocol: a few scenarios, and for each of them one simulation for every operation
//! that leaves the process, with a crash at that operation; for some, with a second crash during recovery.
//! With webhooks no end of a task is lost, and what comes again has the same id and the same bytes.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::plan::actions::{Action, Plan};
use crate::plan::requests::{Client, TextCall};
use crate::plugins::Plugins;
use crate::record::hook_record::HookAnswer::{self, Status, TakeAndHang};
use crate::record::outcomes::{Answer, JobEnd, TaskOutcome};
use crate::record::text_outcomes::{Protocol, TextOutcome};
use crate::run::{self, in_two_threads};
use crate::simulation::Simulation;

/// One in so many crash points is followed by a second crash during recovery.
const SECOND_CRASH: usize = 7;
/// A recovery has more operations than this.
const RECOVERY: usize = 40;

pub(super) fn answered(answers: impl IntoIterator<Item = Answer>) -> TaskOutcome {
    TaskOutcome { answers: answers.into_iter().collect(), ..TaskOutcome::success() }
}

/// The plan with a webhook, whose receiver gives those answers first.
fn told(plan: Plan, answers: impl IntoIterator<Item = HookAnswer>) -> Plan {
    Plan { webhook: Some(answers.into_iter().collect()), ..plan }
}

/// Runs a scenario with crashes at those operations.
fn run(name: &str, plan: &Plan, crashes: &[usize], plugins: &mut Plugins) -> Arc<Simulation> {
    // What a crash leaves on the disk differs from one to the next; until then the system does the same.
    let fault_seed = crashes.iter().fold(1, |fault_seed: u64, crash| fault_seed * 10_007 + *crash as u64);
    let simulation = Simulation::new(fault_seed, plan.clone(), crashes.to_vec());
    if let Err(what) = run::run(&simulation, plugins) {
        panic!("{name}, crashes {crashes:?}: {what}\n{}", simulation.log_lines().join("\n"));
    }
    simulation
}

/// Crashes a scenario at every operation. Every event that `covered` names must happen in one of the runs.
pub(super) fn every_point(name: &str, plan: &Plan, covered: &[&str]) {
    let dry = run(name, plan, &[], &mut Plugins::open());
    // One further: no crash happens there.
    let total = dry.switch.operations();
    crash_at(name, plan, (0..total + 1, total), covered);
}

/// The same for the operations from that moment to the end of the plan; a task alone has other scenarios.
pub(super) fn every_point_since(name: &str, plan: &Plan, from: u64, covered: &[&str]) {
    let dry = run(name, plan, &[], &mut Plugins::open());
    crash_at(name, plan, (dry.operations_since(from), dry.switch.operations()), covered);
}

#[expect(clippy::print_stdout, reason = "the number of crash points belongs to the report")]
fn crash_at(name: &str, plan: &Plan, (points, total): (Range<usize>, usize), covered: &[&str]) {
    let expected = points.clone().filter(|point| *point < total).count();
    let (crashed, twice) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let happened = Mutex::new(BTreeSet::new());
    in_two_threads(points, Plugins::open, |plugins, point| {
        let mut crashes = vec![point];
        if point.is_multiple_of(SECOND_CRASH) {
            crashes.push(point / SECOND_CRASH % RECOVERY);
        }
        let counts = run(name, plan, &crashes, plugins).counts();
        let crashes = counts.get("the process crashed").copied().unwrap_or(0);
        crashed.fetch_add(usize::from(crashes > 0), Ordering::SeqCst);
        twice.fetch_add(usize::from(crashes > 1), Ordering::SeqCst);
        happened.lock().expect("no thread panicked").extend(counts.into_keys());
    });
    let (crashed, twice) = (crashed.into_inner(), twice.into_inner());
    println!("{name}: {expected} crash points, {twice} of them followed by a second crash");
    assert_eq!(crashed, expected, "{name}: as many crashes as the dry run has operations");
    assert!(twice > 0, "{name}: no second crash during recovery");
    let happened = happened.into_inner().expect("no thread panicked");
    assert!(
        covered.iter().all(|what| happened.contains(what)),
        "{name}: expected {covered:?}, got {happened:?}"
    );
}

#[test]
fn a_plain_success_survives_every_crash() {
    every_point(
        "plain success",
        &Plan::of(TaskOutcome::success()),
        &["a task was completed", "an ambiguous call was given up"],
    );
}

#[test]
fn an_answer_lost_after_acceptance_survives_every_crash() {
    every_point(
        "accepted, answer lost",
        &Plan::of(answered([Answer::TakeAndHangUp])),
        &["a task failed at its provider", "a success came too late"],
    );
}

#[test]
fn a_429_before_the_success_survives_every_crash() {
    every_point(
        "429, then success",
        &Plan::of(answered([Answer::TooMany(Some(3)), Answer::Take])),
        &["a task was completed"],
    );
}

#[test]
fn a_refused_account_survives_every_crash() {
    // A crash between the refusal and the next account ends the task, refunded.
    every_point(
        "refused, then taken by another account",
        &Plan::of(answered([Answer::Error(403)])),
        &["a task was completed", "a task failed at its provider"],
    );
    every_point(
        "refused by every account",
        &Plan::of(answered([Answer::Error(402), Answer::Error(403)])),
        &["a task failed at its provider"],
    );
}

#[test]
fn a_cancel_survives_every_crash() {
    let early = Plan::of(answered([Answer::TooMany(None)])).with(1_500, Action::Cancel("one".to_owned()));
    every_point("cancel between two tries", &early, &["a task was cancelled"]);
    let late = Plan::of(TaskOutcome::success()).with(2_000, Action::Cancel("one".to_owned()));
    every_point("cancel while the provider works", &late, &["a cancel came too late"]);
}

#[test]
fn a_deadline_survives_every_crash() {
    let outcome = TaskOutcome { end: JobEnd::Never, ..TaskOutcome::success() };
    every_point("deadline", &Plan { limit_s: 20, ..Plan::of(outcome) }, &["a task ran out of time"]);
    let outcome = TaskOutcome { works: 25_000, ..answered([Answer::TakeSlowly(15_000)]) };
    every_point(
        "deadline before a late success",
        &Plan { limit_s: 20, ..Plan::of(outcome) },
        &["a task ran out of time", "a success came too late"],
    );
}

#[test]
fn a_result_that_cannot_be_copied_survives_every_crash() {
    let outcome = TaskOutcome { broken_fetches: 1, ..TaskOutcome::success() };
    every_point("a copy fails once", &Plan::of(outcome), &["a task was completed"]);
}

#[test]
fn an_activation_and_a_restart_survive_every_crash() {
    let swap = Plan::of(TaskOutcome::success())
        .with(1_000, Action::Activate(1))
        .with_task(1_500, "two", TaskOutcome::success())
        .with(3_000, Action::Restart(-1))
        .with_task(3_500, "three", TaskOutcome::success());
    every_point("swap, restart, new prices", &swap, &["a version was activated", "the system was restarted"]);
}

#[test]
fn a_call_that_is_sent_again_survives_every_crash() {
    every_point(
        "a call with a token",
        &Plan::of_scribe("scroll 2", TaskOutcome::success()),
        &["a token was repeated"],
    );
}

#[test]
fn a_migration_survives_every_crash() {
    let (read, refused) = ("scroll 2", "scroll 3");
    every_point(
        "a state is migrated",
        &Plan::of_scribe(read, TaskOutcome::success()).with(1_000, Action::Activate(4)),
        &["a state was migrated"],
    );
    every_point(
        "a state is not migrated",
        &Plan::of_scribe(refused, TaskOutcome::success()).with(1_000, Action::Activate(4)),
        &["a task was completed"],
    );
}

#[test]
fn a_text_survives_every_crash() {
    let text = TextCall::plain;
    let (paid, released) = ("a text was paid for", "a hold of a text was released by the next process");
    // Slow enough that the hold is on the disk before the answer is.
    let refused = [TextOutcome::TooMany(Some(3)), TextOutcome::Slowly(200)];
    every_point(
        "a whole text",
        &Plan::of_text(text(Client::Messages, Protocol::Chat, false), refused),
        &[paid, released, "a text went to another account"],
    );
    every_point(
        "a stream",
        &Plan::of_text(text(Client::Chat, Protocol::Messages, true), [TextOutcome::Slowly(200)])
            .with(103, Action::Activate(8)),
        &[paid, released, "the end of a text was lost in a crash"],
    );
    every_point(
        "a stream that is cut",
        &Plan::of_text(text(Client::Messages, Protocol::Messages, true), [TextOutcome::Cut(5)]),
        &["a stream was cut and paid for", "a text's charge was lost in a crash"],
    );
}

#[test]
fn a_picture_is_deleted_when_its_link_expires() {
    let (day, sweep) = (25 * 3_600_000_i64, 16 * 60_000_u64);
    let plan = Plan::of(TaskOutcome::success())
        .with(30_000, Action::SetClock(day + 10_000))
        .with(30_000 + sweep, Action::ExpectExpired("one".to_owned()));
    run("a picture expires", &plan, &[], &mut Plugins::open());
}

#[test]
fn an_event_survives_every_crash() {
    let plan = told(Plan::of(TaskOutcome::success()), []);
    every_point("webhook of a success", &plan, &["a webhook was taken", "a webhook came again"]);
}

#[test]
fn an_event_that_is_refused_and_lost_survives_every_crash() {
    let plan = told(Plan::of(TaskOutcome::success()), [Status(500), TakeAndHang]);
    let covered = ["a webhook was taken", "a webhook was refused", "a webhook was taken without an answer"];
    every_point("webhook with a bad receiver", &plan, &covered);
}

#[test]
fn every_end_is_told_whatever_ended_it() {
    let outcome = TaskOutcome { end: JobEnd::Never, ..TaskOutcome::success() };
    let deadline = told(Plan { limit_s: 20, ..Plan::of(outcome) }, []);
    every_point("webhook of a deadline", &deadline, &["a task ran out of time", "a webhook was taken"]);
    let cancelled = Plan::of(answered([Answer::TooMany(None)])).with(1_500, Action::Cancel("one".to_owned()));
    every_point(
        "webhook of a cancel",
        &told(cancelled, []),
        &["a task was cancelled", "a webhook was taken"],
    );
}
