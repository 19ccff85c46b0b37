//! Two gateways over one database. The one at work crashes at any operation, is stopped past its lease, also in the middle of a commit, is
//! cut off, loses answers: the other one takes its place, every receipt is there, nothing is sent twice, and the former one neither writes
//! nor calls anybody. Faults that are planted in the store are found.

use std::collections::BTreeSet;
use std::sync::Mutex;

use gatehouse_store::{PlantedFault, TripEnd};

use crate::fleet::faults::Fault;
use crate::fleet::run::{AllPlugins, Event, FleetPlan, open_plugins, run};
use crate::plan::actions::{Action, Plan};
use crate::plan::requests::{CLIENTS, Client, TextCall};
use crate::random::Random;
use crate::record::outcomes::TaskOutcome;
use crate::record::text_outcomes::{Protocol, TextOutcome};
use crate::run::in_two_threads;

/// Longer than a lease.
const LONG: u64 = 13_000;
/// Fleets made from numbers.
const SEEDS: u64 = 40;

fn text(number: usize) -> Action {
    let protocol = if number.is_multiple_of(3) { Protocol::Chat } else { Protocol::Messages };
    let call = TextCall::plain(CLIENTS[number % 2], protocol, number.is_multiple_of(2));
    Action::Text(TextCall { prompt: format!("prompt {number}"), ..call })
}

/// A task whose call may not be repeated, one whose call has a token, and a text; then one of each at the end.
fn plan() -> Plan {
    let slow = TextCall::plain(Client::Chat, Protocol::Messages, true);
    Plan::of_text(slow, [TextOutcome::Slowly(200)])
        .with_task(400, "one", TaskOutcome::success())
        .with_scribe(600, "scroll 2", TaskOutcome::success())
        .with_task(3_000, "two", TaskOutcome::success())
}

/// Runs it; the counts of what happened.
fn expect(name: &str, fleet: &FleetPlan, plugins: &AllPlugins) -> BTreeSet<&'static str> {
    let (simulation, outcome) = run(fleet, plugins);
    outcome.unwrap_or_else(|what| panic!("{name}: {what}\n{}", simulation.log_lines().join("\n")));
    let happened: BTreeSet<_> = simulation.counts().into_keys().collect();
    if fleet.crash.is_some() && happened.contains("the first gateway ended beside a standby") {
        assert!(happened.contains("the second gateway took the place"), "{name}: {happened:?}");
    }
    happened
}

/// Runs all of them in two threads. Each event that `covered` names must happen in one of them.
fn expect_all(all: &[(String, FleetPlan)], covered: &[&str]) {
    let happened = Mutex::new(BTreeSet::new());
    in_two_threads(0..all.len(), open_plugins, |plugins, number| {
        let (name, fleet) = &all[number];
        let counts = expect(name, fleet, plugins);
        happened.lock().expect("no thread panicked").extend(counts);
    });
    let happened = happened.into_inner().expect("no thread panicked");
    for what in covered {
        assert!(happened.contains(what), "expected {what:?}, got {happened:?}");
    }
}

/// A crash would leave something that the gateway that takes over reads wrongly.
#[test]
fn a_crash_at_any_operation_is_taken_over() {
    let whole = FleetPlan::of(plan());
    let (dry, outcome) = run(&whole, &open_plugins());
    outcome.unwrap_or_else(|what| panic!("no crash: {what}\n{}", dry.log_lines().join("\n")));
    // One that was replaced, and does not know, may call as long.
    assert!(!dry.counts().contains_key("a call left more than a second after a renewal"));
    let operations = dry.switch.operations();
    let crashed = |crash| (format!("crash at {crash}"), FleetPlan { crash: Some(crash), ..whole.clone() });
    let all: Vec<_> = (0..operations).map(crashed).collect();
    println!("two gateways: {} crash points", all.len());
    expect_all(
        &all,
        &[
            "the process crashed",
            "the first gateway ended beside a standby",
            "a token was repeated",
            "an ambiguous call was given up",
        ],
    );
}

/// What befalls the gateway at work while tasks and texts are under way, every now and then.
fn faults() -> Vec<Fault> {
    vec![
        Fault::Stop(LONG),
        Fault::StopInCommit { arrived: false, ms: LONG },
        Fault::StopInCommit { arrived: true, ms: LONG },
        Fault::CutOff(3_000),
        Fault::CutOff(LONG),
        Fault::CutOff(40_000),
        Fault::Refuse(100),
        Fault::Refuse(LONG),
        Fault::Restart,
        Fault::EndSessions,
        Fault::NextCommit(TripEnd::Lost),
        Fault::NextCommit(TripEnd::AnswerLost),
        Fault::NextCommit(TripEnd::Silent),
        Fault::NextCommit(TripEnd::AnswerSilent),
        Fault::SlowRenewals { answer: 2_900, ms: 20_000 },
    ]
}

/// The plan, with texts for either gateway all the time.
fn busy() -> FleetPlan {
    (0..60).fold(FleetPlan::of(plan()), |fleet, number| {
        let at = 2_000 + 400 * number as u64;
        fleet.with(at, Event::AskAt(number % 2, text(100 + number)))
    })
}

/// Work would be lost or done twice where the one at work is stopped, cut off or loses answers for a while.
#[test]
fn a_gateway_that_is_stopped_or_cut_off_is_replaced() {
    let moments = [150, 420, 640, 2_500];
    let mut all = Vec::new();
    for fault in faults() {
        // The first gateway is at work after some milliseconds.
        let befalls = |at: u64| (format!("{fault:?} at {at}"), busy().with(at, Event::Befalls(0, fault)));
        all.extend(moments.map(befalls));
    }
    expect_all(
        &all,
        &[
            "a gateway was replaced",
            "a process was stopped within a commit",
            "a task was completed",
            "a text was paid for",
        ],
    );
}

/// What nobody thought of.
#[test]
fn fleets_made_from_numbers_keep_the_invariants() {
    let all: Vec<_> = (0..SEEDS).map(|seed| (format!("seed {seed}"), from_seed(seed))).collect();
    expect_all(&all, &["a gateway was replaced", "a text's charge was lost in a crash"]);
}

fn from_seed(seed: u64) -> FleetPlan {
    let random = Random::new(seed);
    let mut plan = Plan { seed, ..plan() };
    for number in 0..4 + random.below(4) {
        let at = 1_000 + random.below(40_000) as u64;
        plan = if random.once_in(3) {
            plan.with_scribe(at, &format!("scroll {}", 10 + 2 * number), TaskOutcome::success())
        } else {
            plan.with_task(at, &format!("task {number}"), TaskOutcome::success())
        };
    }
    let mut fleet = FleetPlan::of(plan);
    for number in 0..20 {
        let at = 1_000 + random.below(40_000) as u64;
        let ask = if random.once_in(3) {
            Event::AskAt(random.below(2), text(100 + number))
        } else {
            Event::Ask(text(100 + number))
        };
        fleet = fleet.with(at, ask);
    }
    let faults = faults();
    for _ in 0..2 + random.below(5) {
        let at = random.below(40_000) as u64;
        let fault = if random.once_in(4) { Fault::Kill } else { faults[random.below(faults.len())] };
        fleet = fleet.with(at, Event::Befalls(random.below(2), fault));
    }
    fleet
}

/// This test would be of no use if it did not find what it is there to find.
#[test]
fn faults_of_the_store_that_are_planted_are_found() {
    let plugins = open_plugins();
    let befalls = |fault| Event::Befalls(0, fault);
    // A writer with nothing to do does not notice that it is cut off.
    let idle = |cut: u64, asked: u64| {
        let fleet = FleetPlan::of(plan()).with(cut, befalls(Fault::CutOff(LONG)));
        fleet.with(asked, Event::AskAt(0, text(100))).with(asked + 500, Event::AskAt(0, text(101)))
    };
    // The last renewal before the cut is sent at 11 s, and answered at 11.9 s. By then every task has ended.
    let slow = befalls(Fault::SlowRenewals { answer: 900, ms: 12_500 });
    let stopped = busy().with(1_900, befalls(Fault::StopInCommit { arrived: false, ms: LONG }));
    let cases = [
        // The one or the other, whichever of the two looks first.
        (PlantedFault::NoFence, &["fence: ", "the doctor finds"][..], stopped),
        (PlantedFault::EffectsGoOn, &["effects: "], idle(12_000, 21_000)),
        (PlantedFault::LeaseFromAnswer, &["effects: "], idle(11_950, 19_300).with(0, slow)),
    ];
    for (fault, expected, fleet) in cases {
        expect("nothing is planted", &fleet, &plugins);
        let (simulation, outcome) = run(&FleetPlan { planted: Some(fault), ..fleet }, &plugins);
        let found = outcome.err().unwrap_or_default();
        let log = simulation.log_lines().join("\n");
        assert!(
            expected.iter().any(|start| found.starts_with(start)),
            "{fault:?} was not found: {found:?}\n{log}"
        );
    }
}
