//! An engine of the store that cannot be reached, from every single access of a scenario on: for a moment, and for seconds.
//! Nothing is lost, nothing is sent twice, no process ends, and all goes on by itself.

use std::collections::BTreeSet;

use crate::plan::actions::{Action, OperatorRuling, Plan};
use crate::plan::requests::{Client, TextCall};
use crate::plugins::Plugins;
use crate::record::hook_record::HookAnswer::Status;
use crate::record::outcomes::{Answer, TaskOutcome};
use crate::record::text_outcomes::{Protocol, TextOutcome};
use crate::run;
use crate::scenarios::crashes::answered;
use crate::simulation::Simulation;

/// How long the engine is away, ms.
const LENGTHS: [u64; 2] = [0, 4_000];

/// What must have been refused once.
const REFUSED: [&str; 3] = ["a read was refused", "a row could not be fetched", "a commit was refused"];

#[expect(clippy::print_stdout, reason = "the number of accesses belongs to the report")]
fn every_access(name: &str, plan: &Plan, covered: &[&str]) {
    let mut plugins = Plugins::open();
    let mut run = |outage: Option<(usize, u64)>| {
        let simulation = Simulation::new(1, plan.clone(), []);
        if let Some((first, lasts)) = outage {
            simulation.outage.begin_at(first, lasts);
        }
        let outcome = run::run(&simulation, &mut plugins);
        outcome.unwrap_or_else(|what| {
            panic!("{name}, away from {outage:?}: {what}\n{}", simulation.log_lines().join("\n"))
        });
        simulation
    };
    let accesses = run(None).outage.accesses();
    let mut happened = BTreeSet::new();
    for outage in (0..accesses).flat_map(|first| LENGTHS.map(|lasts| (first, lasts))) {
        let counts = run(Some(outage)).counts();
        assert!(REFUSED.iter().any(|what| counts.contains_key(what)), "{name}: {outage:?} had no effect");
        happened.extend(counts.into_keys());
    }
    println!("{name}: {accesses} accesses");
    for what in covered.iter().chain(&REFUSED) {
        assert!(happened.contains(what), "{name}: expected {what:?}, got {happened:?}");
    }
    // What a receiver refuses comes again all the same.
    let again = (!covered.contains(&"a webhook was refused")).then_some("a webhook came again");
    for what in ["a token was repeated", "an ambiguous call was given up"].into_iter().chain(again) {
        assert!(!happened.contains(what), "{name}: {what}");
    }
}

#[test]
fn a_task_and_its_webhook_survive_every_outage() {
    let hooked = |plan| Plan { webhook: Some([].into()), ..plan };
    every_access(
        "a success",
        &hooked(Plan::of(TaskOutcome::success())),
        &["a task was completed", "a webhook was taken"],
    );
    let later = hooked(Plan::of(answered([Answer::TooMany(Some(3)), Answer::Take])));
    every_access("429, then success", &later, &["a task was completed"]);
    let refused = Plan {
        webhook: Some([Status(500)].into()),
        ..Plan::of(answered([Answer::Error(402), Answer::Error(403)]))
    };
    every_access(
        "refused, and so is the webhook",
        &refused,
        &["a task failed at its provider", "a webhook was refused"],
    );
}

#[test]
fn a_cancel_a_restart_and_a_ruling_survive_every_outage() {
    let early = Plan::of(answered([Answer::TooMany(None)])).with(1_500, Action::Cancel("one".to_owned()));
    every_access("a cancel", &early, &["a task was cancelled"]);
    let swap =
        Plan::of(TaskOutcome::success()).with(1_000, Action::Activate(1)).with(3_000, Action::Restart(-1));
    every_access("a restart", &swap, &["the system was restarted", "a task was completed"]);
    for ruling in [OperatorRuling::Truth, OperatorRuling::Fail] {
        let asks = Plan { asks: true, limit_s: 240, ..Plan::of(answered([Answer::TakeAndHangUp])) };
        let ruled = [20_000, 45_000].into_iter().fold(asks, |plan, at| plan.with(at, Action::Rule(ruling)));
        every_access("a ruling", &ruled, &["an operator was asked about a call"]);
    }
}

#[test]
fn a_text_survives_every_outage() {
    let text = TextCall::plain;
    let refused = [TextOutcome::TooMany(Some(3)), TextOutcome::Slowly(200)];
    let whole = Plan::of_text(text(Client::Messages, Protocol::Chat, false), refused);
    every_access("a whole text", &whole, &["a text was paid for"]);
    let stream = text(Client::Chat, Protocol::Messages, true);
    every_access("a stream", &Plan::of_text(stream, [TextOutcome::Slowly(200)]), &["a text was paid for"]);
    let cut = text(Client::Messages, Protocol::Messages, true);
    every_access(
        "a stream that is cut",
        &Plan::of_text(cut, [TextOutcome::Cut(5)]),
        &["a stream was cut and paid for"],
    );
}
