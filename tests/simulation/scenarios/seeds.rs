//! Simulations made from seeds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::plan::actions::Plan;
use crate::plugins::Plugins;
use crate::random::Random;
use crate::run::{crashes, in_two_threads, run};
use crate::simulation::Simulation;

/// Worlds in a run.
const SEEDS: u64 = 500;
/// One in so many of them is run twice.
const TWICE: u64 = 20;
/// The variable with another number of seeds.
const SEED_COUNT: &str = "GATEHOUSE_SEEDS";
/// The variable with the one seed to run again.
const SEED: &str = "GATEHOUSE_SEED";

/// Events that must happen in a whole run; without them it shows too little.
const COVERED: [&str; 57] = [
    "a version was activated",
    "a version was rolled back",
    "a failed task kept its view",
    "a failed task left a result",
    "a failed task released what had joined it",
    "a joining request was repeated",
    "a name of another customer was not claimed",
    "a name was claimed",
    "a name was referred to",
    "a name was unknown",
    "a poll for several jobs failed",
    "a poll left one job out",
    "a provider was told to stop",
    "a quilt was made from another",
    "a quilt was not finished",
    "a request came too late to join",
    "a request joined a task",
    "a request that joined was made",
    "a task of another customer was not followed up",
    "one poll was for several jobs",
    "a cancel came too late",
    "a key was revoked",
    "a picture was moderated",
    "a poll was answered with a fault",
    "a quota was used up",
    "a quota was used up until it resets",
    "a state was migrated",
    "a submission was repeated",
    "a success came too late",
    "a task failed at its provider",
    "a task ran out of time",
    "a task was cancelled",
    "a task was completed",
    "a task was doomed",
    "a token was repeated",
    "a token was reused for another request",
    "an account could not pay",
    "an ambiguous call was given up",
    "an operator gave a task up",
    "an operator had a call sent again",
    "an operator handed in a reply",
    "an operator was asked about a call",
    "a client left before the end of its text",
    "a client left its stream and paid for what was written",
    "a hold of a text was released by the next process",
    "a stream was cut and paid for",
    "a text failed at its provider",
    "a text took too long",
    "a hold of a text was released",
    "a text was paid for",
    "a text went to another account",
    "no account could take a text",
    "the end of a text was lost in a crash",
    "the clock was set",
    "the system was restarted",
    "the process crashed",
    "the provider was unreachable",
];

fn simulation(seed: u64) -> Arc<Simulation> {
    Simulation::new(seed, Plan::from_seed(seed), crashes(&Random::new(seed ^ 0x6375_7473)))
}

/// Runs a seed; its log where it fails.
fn check(seed: u64, plugins: &mut Plugins) -> Result<Arc<Simulation>, String> {
    let simulation = simulation(seed);
    match run(&simulation, plugins) {
        Ok(()) => Ok(simulation),
        Err(what) => {
            Err(format!("seed {seed} (again: {SEED}={seed}): {what}\n{}", simulation.log_lines().join("\n")))
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a failing seed is run again")]
fn every_seed_keeps_the_invariants() {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    if let Some(seed) = given(SEED) {
        let simulation = check(seed, &mut Plugins::open()).unwrap_or_else(|what| panic!("{what}"));
        println!("{}\nseed {seed}: {:?}", simulation.log_lines().join("\n"), simulation.counts());
        return;
    }
    let end = given(SEED_COUNT).unwrap_or(SEEDS);
    let failures = Mutex::new(Vec::new());
    let counts = Mutex::new(BTreeMap::<&str, usize>::new());
    let checks = AtomicUsize::new(0);
    in_two_threads(0..end as usize, Plugins::open, |plugins, seed| {
        if !failures.lock().unwrap().is_empty() {
            return;
        }
        let seed = seed as u64;
        match check(seed, plugins) {
            Ok(simulation) => {
                if seed.is_multiple_of(TWICE) {
                    let again = check(seed, plugins).map(|again| again.log_lines());
                    assert_eq!(again, Ok(simulation.log_lines()), "I20: seed {seed} is not the same twice");
                }
                let mut all = counts.lock().unwrap();
                for (what, times) in simulation.counts() {
                    *all.entry(what).or_default() += times;
                }
                checks.fetch_add(simulation.memory().checks, Ordering::SeqCst);
            }
            Err(what) => failures.lock().unwrap().push(what),
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let counts = counts.into_inner().unwrap();
    println!("{end} seeds from 0, everything checked {} times: {counts:#?}", checks.into_inner());
    if end >= SEEDS {
        let missing: Vec<_> = COVERED.iter().filter(|what| !counts.contains_key(*what)).collect();
        assert!(missing.is_empty(), "never happened: {missing:?}");
    }
}
