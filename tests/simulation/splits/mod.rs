//! Any split of any provider's stream gives the client the same events and the customer the same bill, through the
//! real crates and the real plugins. A stream that is cut anywhere ends, and costs the same however its bytes arrived
//! before the cut.
//!
//! Cases are made from seeds: `GATEHOUSE_SEED=<n>` runs one again, `GATEHOUSE_SEEDS=<n>` runs more.

mod cutter;
mod runner;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::plan::requests::{CLIENTS, Client};
use crate::provider::transcripts::{ENDS, Transcript, all};
use crate::random::Random;
use crate::run::in_two_threads;
use crate::splits::cutter::{Cuts, Framing, Reply, Then, wire};
use crate::splits::runner::{Observed, StreamRunner};

/// Cases made from numbers in a run.
const SEEDS: u64 = 1_000;
/// Byte positions at which each stream is cut, besides the end of each event.
const SAMPLES: usize = 8;

/// Runs `check` for each of `cases` on two threads with a runner each; panics with the message of the first failure.
fn each<T: Sync>(cases: &[T], check: impl Fn(&StreamRunner, &T) -> Result<(), String> + Sync) {
    let failed = Mutex::new(None);
    in_two_threads(0..cases.len(), StreamRunner::open, |runner, number| {
        if failed.lock().expect("no thread panicked").is_some() {
            return;
        }
        if let Err(what) = check(runner, &cases[number]) {
            failed.lock().expect("no thread panicked").get_or_insert(what);
        }
    });
    if let Some(what) = failed.into_inner().expect("no thread panicked") {
        panic!("{what}");
    }
}

/// The stream in one piece.
fn unsplit(
    runner: &StreamRunner,
    client: Client,
    transcript: &Transcript,
    body: &[u8],
    then: Then,
) -> Observed {
    let reply = wire(body, &Framing::Whole, then);
    runner.play(client, transcript.protocol, Reply { pieces: vec![reply], then, apart: true })
}

fn compare(what: &str, expected: &Observed, observed: &Observed) -> Result<(), String> {
    if expected == observed {
        return Ok(());
    }
    Err(format!("{what}:\nexpected {expected:#?}\ngot {observed:#?}"))
}

/// Every transcript for every client, with its expected result.
fn expected() -> BTreeMap<(usize, usize), Observed> {
    let runner = StreamRunner::open();
    let mut made = BTreeMap::new();
    for (place, transcript) in all().iter().enumerate() {
        for (number, client) in CLIENTS.into_iter().enumerate() {
            let observed = unsplit(&runner, client, transcript, &transcript.bytes("\n"), Then::Rest);
            let checked = observed.check(client).and_then(|()| observed.matches(transcript));
            checked.unwrap_or_else(|what| panic!("{}, {client:?}: {what}", transcript.name));
            made.insert((place, number), observed);
        }
    }
    made
}

#[test]
fn every_hard_split_gives_the_same_events_and_the_same_bill() {
    let expected = expected();
    let transcripts = all();
    let cases: Vec<_> = (0..transcripts.len())
        .flat_map(|place| (0..CLIENTS.len()).map(move |client| (place, client)))
        .flat_map(|case| ENDS.map(|end| (case, end)))
        .flat_map(|case| Cuts::HARD.map(|cuts| (case, cuts)))
        .collect();
    each(&cases, |runner, &(((place, client), end), cuts)| {
        let transcript = &transcripts[place];
        let random = Random::new(7);
        for framing in
            [Framing::Whole, Framing::Length, Framing::Chunks(vec![1]), Framing::Chunks(vec![13, 4, 90])]
        {
            let bytes = wire(&transcript.bytes(end), &framing, Then::Rest);
            let reply = Reply { pieces: cuts.pieces(&bytes, &random), then: Then::Rest, apart: true };
            let observed = runner.play(CLIENTS[client], transcript.protocol, reply);
            let what = format!("{}, {end:?}, {:?}, {cuts:?}, {framing:?}", transcript.name, CLIENTS[client]);
            compare(&what, &expected[&(place, client)], &observed)?;
        }
        Ok(())
    });
    println!("{} transcripts, {} splits", transcripts.len(), cases.len() * 4);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a failing seed is run again")]
fn any_split_gives_the_same_events_and_the_same_bill() {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let seeds: Vec<u64> = match given("GATEHOUSE_SEED") {
        Some(seed) => vec![seed],
        None => (0..given("GATEHOUSE_SEEDS").unwrap_or(SEEDS)).collect(),
    };
    let (expected, transcripts) = (expected(), all());
    each(&seeds, |runner, &seed| {
        let random = Random::new(seed);
        let (place, client) = (random.below(transcripts.len()), random.below(CLIENTS.len()));
        let (transcript, end) = (&transcripts[place], ENDS[random.below(ENDS.len())]);
        let framing = Framing::any(&random);
        let bytes = wire(&transcript.bytes(end), &framing, Then::Rest);
        let cuts = Cuts::any(&random);
        let apart = !random.once_in(4);
        let reply = Reply { pieces: cuts.pieces(&bytes, &random), then: Then::Rest, apart };
        let observed = runner.play(CLIENTS[client], transcript.protocol, reply);
        let (name, client_named) = (transcript.name, CLIENTS[client]);
        let case = format!("{name}, {end:?}, {client_named:?}, {cuts:?}, {framing:?}");
        let what = format!("seed {seed} (again: GATEHOUSE_SEED={seed}): {case}");
        compare(&what, &expected[&(place, client)], &observed)
    });
}

#[test]
fn a_stream_cut_anywhere_ends_and_costs_what_it_delivered() {
    let transcripts = all();
    let cases: Vec<_> = (0..transcripts.len())
        .flat_map(|place| CLIENTS.map(|client| (place, client)))
        .flat_map(|case| [Then::Close, Then::HangUp].map(|then| (case, then)))
        .flat_map(|case| ["\n", "\r\n"].map(|end| (case, end)))
        .collect();
    let (played, whole) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each(&cases, |runner, &(((place, client), then), end)| {
        let transcript = &transcripts[place];
        let bytes = transcript.bytes(end);
        let random = Random::new(place as u64);
        let samples = (0..SAMPLES).map(|_| random.below(bytes.len()));
        for at in transcript.boundaries(end).into_iter().chain(samples) {
            let body = &bytes[..at];
            let what = format!("{}, {end:?}, {client:?}, {then:?} after {at} bytes", transcript.name);
            let first = unsplit(runner, client, transcript, body, then);
            first.check(client).map_err(|wrong| format!("{what}: {wrong}\n{first:#?}"))?;
            played.fetch_add(1, Ordering::SeqCst);
            whole.fetch_add(usize::from(first.error.is_none()), Ordering::SeqCst);
            for cuts in [Cuts::EveryByte, Cuts::Lines, Cuts::Traps, Cuts::Few] {
                let framing = Framing::any(&random);
                let bytes = wire(body, &framing, then);
                let reply = Reply { pieces: cuts.pieces(&bytes, &random), then, apart: cuts != Cuts::Few };
                let observed = runner.play(client, transcript.protocol, reply);
                compare(&format!("{what}, {cuts:?}, {framing:?}"), &first, &observed)?;
            }
        }
        Ok(())
    });
    let (played, whole) = (played.into_inner(), whole.into_inner());
    println!("{played} cuts, after {whole} of them the answer was whole");
    assert!(whole > 0 && whole < played / 2, "{whole} of {played}");
}
