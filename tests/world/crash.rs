//! Every crash point of the step protocol: a few scenarios, and for each of them one world for every operation
//! that reaches the outside, in which the power goes just there; for some, a second time during recovery.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gatehouse_model::Protocol;

use crate::house::play;
use crate::plan::{Act, Plan};
use crate::shelf::Shelf;
use crate::speaker::Speech;
use crate::talks::{Client, Talk};
use crate::truth::{Answer, End, Fate};
use crate::world::World;

/// Of so many crash points, one is followed by a second crash during recovery.
const AGAIN: usize = 7;
/// A recovery does more operations than this before it is done.
const RECOVERY: usize = 40;

fn answered(answers: impl IntoIterator<Item = Answer>) -> Fate {
    Fate { answers: answers.into_iter().collect(), ..Fate::fine() }
}

/// Runs a scenario with those cuts.
fn run(plan: &Plan, cuts: Vec<usize>, shelf: &mut Shelf) -> (Arc<World>, Result<(), String>) {
    // What is on the disk after a cut differs from one to the next; the house does the same until then.
    let luck = cuts.iter().fold(1, |luck: u64, cut| luck * 10_007 + *cut as u64);
    let world = World::new(luck, plan.clone(), cuts);
    let outcome = play(&world, shelf);
    (world, outcome)
}

/// Cuts the power at every operation of a scenario. Somewhere, everything that `tried` names must have happened.
#[expect(clippy::print_stdout, reason = "how many there were is worth knowing")]
fn every_point(name: &str, plan: &Plan, tried: &[&str]) {
    let (dry, outcome) = run(plan, vec![], &mut Shelf::open());
    outcome.unwrap_or_else(|what| panic!("{name}, no cut: {what}\n{}", dry.log().join("\n")));
    let points = dry.power.done();
    let (next, cut, twice) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let happened = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut shelf = Shelf::open();
                loop {
                    let point = next.fetch_add(1, Ordering::SeqCst);
                    // One further: there the power stays.
                    if point > points {
                        return;
                    }
                    let mut cuts = vec![point];
                    if point % AGAIN == 0 {
                        cuts.push(point / AGAIN % RECOVERY);
                    }
                    let (world, outcome) = run(plan, cuts.clone(), &mut shelf);
                    if let Err(what) = outcome {
                        panic!("{name}, cuts {cuts:?}: {what}\n{}", world.log().join("\n"));
                    }
                    happened
                        .lock()
                        .expect("whoever panicked has said why")
                        .extend(world.counts().into_keys());
                    let gone = world.counts().get("the power went").copied().unwrap_or(0);
                    cut.fetch_add(usize::from(gone > 0), Ordering::SeqCst);
                    twice.fetch_add(usize::from(gone > 1), Ordering::SeqCst);
                }
            });
        }
    });
    let (cut, twice) = (cut.into_inner(), twice.into_inner());
    println!("{name}: {points} crash points, {twice} of them followed by a second crash");
    assert_eq!(cut, points, "{name}: as many cuts as the dry run has operations");
    assert!(twice > 0, "{name}: no second cut during recovery");
    let happened = happened.into_inner().expect("nobody panicked");
    assert!(tried.iter().all(|what| happened.contains(what)), "{name}: expected {tried:?}, got {happened:?}");
}

#[test]
fn a_plain_success_survives_every_crash() {
    every_point(
        "plain success",
        &Plan::of(Fate::fine()),
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
fn a_cancel_survives_every_crash() {
    let early = Plan::of(answered([Answer::TooMany(None)])).with(1_500, Act::Cancel("one".to_owned()));
    every_point("cancel between two tries", &early, &["a task was cancelled"]);
    let late = Plan::of(Fate::fine()).with(2_000, Act::Cancel("one".to_owned()));
    every_point("cancel while the provider works", &late, &["a cancel came too late"]);
}

#[test]
fn a_deadline_survives_every_crash() {
    let fate = Fate { end: End::Never, ..Fate::fine() };
    every_point("deadline", &Plan { limit_s: 20, ..Plan::of(fate) }, &["a task ran out of time"]);
    let fate = Fate { works: 25_000, ..answered([Answer::TakeSlowly(15_000)]) };
    every_point(
        "deadline before a late success",
        &Plan { limit_s: 20, ..Plan::of(fate) },
        &["a task ran out of time", "a success came too late"],
    );
}

#[test]
fn a_result_that_cannot_be_copied_survives_every_crash() {
    let fate = Fate { broken_fetches: 1, ..Fate::fine() };
    every_point("a copy fails once", &Plan::of(fate), &["a task was completed"]);
}

#[test]
fn a_swap_and_a_restart_in_between_survive_every_crash() {
    let swap = Plan::of(Fate::fine())
        .with(1_000, Act::Swap(1))
        .with_task(1_500, "two", Fate::fine())
        .with(3_000, Act::Restart(-1))
        .with_task(3_500, "three", Fate::fine());
    every_point("swap, restart, new prices", &swap, &["a build was activated", "the house was restarted"]);
}

#[test]
fn a_call_that_is_sent_again_survives_every_crash() {
    every_point("a call with a token", &Plan::of_scribe("scroll 2", Fate::fine()), &["a token came again"]);
}

#[test]
fn a_migration_survives_every_crash() {
    let (read, refused) = ("scroll 2", "scroll 3");
    every_point(
        "a state is migrated",
        &Plan::of_scribe(read, Fate::fine()).with(1_000, Act::Swap(4)),
        &["a state was migrated"],
    );
    every_point(
        "a state is not migrated",
        &Plan::of_scribe(refused, Fate::fine()).with(1_000, Act::Swap(4)),
        &["a task was completed"],
    );
}

#[test]
fn a_text_survives_every_crash() {
    let talk = |client, speaks, streaming| Talk {
        key: 0,
        words: "talk 1".to_owned(),
        client,
        speaks,
        streaming,
        leaves: None,
    };
    let (paid, expired) = ("a text was paid for", "a hold of a text ended by its expiry");
    // Slow enough that the hold is on the disk before the answer is.
    let refused = [Speech::TooMany(Some(3)), Speech::Slowly(200)];
    every_point(
        "a whole text",
        &Plan::of_talk(talk(Client::Messages, Protocol::Chat, false), refused),
        &[paid, expired, "a text went to another account"],
    );
    every_point(
        "a stream",
        &Plan::of_talk(talk(Client::Chat, Protocol::Messages, true), [Speech::Slowly(200)])
            .with(103, Act::Swap(8)),
        &[paid, expired, "nobody heard the end of a text"],
    );
    every_point(
        "a stream that is cut",
        &Plan::of_talk(talk(Client::Messages, Protocol::Messages, true), [Speech::Cut(5)]),
        &["a stream was cut and paid for", "a text's charge was forgotten by a crash"],
    );
}

#[test]
fn a_picture_goes_when_its_link_has_ended() {
    let (day, sweep) = (25 * 3_600_000_i64, 16 * 60_000_u64);
    let plan = Plan::of(Fate::fine())
        .with(30_000, Act::Jump(day + 10_000))
        .with(30_000 + sweep, Act::Gone("one".to_owned()));
    let (world, outcome) = run(&plan, vec![], &mut Shelf::open());
    outcome.unwrap_or_else(|what| panic!("{what}\n{}", world.log().join("\n")));
}
