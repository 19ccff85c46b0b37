//! Any split of any provider's stream gives the client the same events and the customer the same bill, through
//! the real rooms and the real plugins; and a stream that is cut anywhere ends, and is paid for alike, however
//! its bytes came before the cut.
//!
//! Cases are made from numbers, as worlds are: `GATEHOUSE_SEED=<n>` plays one again, `GATEHOUSE_SEEDS=<n>` more.

mod cutter;
mod stage;
pub(crate) mod transcripts;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::clock::Chance;
use crate::splits::cutter::{Cuts, Framing, Reply, Then, wire};
use crate::splits::stage::{Stage, Told};
use crate::splits::transcripts::{ENDS, Transcript, all};
use crate::talks::{CLIENTS, Client};

/// Cases made from numbers in a run.
const SEEDS: u64 = 1_000;
/// Byte positions at which each stream is cut, besides the end of each event.
const SAMPLES: usize = 8;

/// Runs `check` for each of `cases` on two threads with a stage each; panics with what the first failure says.
fn each<T: Sync>(cases: &[T], check: impl Fn(&Stage, &T) -> Result<(), String> + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let stage = Stage::open();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if failed.lock().expect("whoever panicked has said why").is_some() {
                        return;
                    }
                    if let Err(what) = check(&stage, case) {
                        failed.lock().expect("whoever panicked has said why").get_or_insert(what);
                    }
                }
            });
        }
    });
    if let Some(what) = failed.into_inner().expect("nobody panicked") {
        panic!("{what}");
    }
}

/// The stream in one piece.
fn unsplit(stage: &Stage, client: Client, transcript: &Transcript, body: &[u8], then: Then) -> Told {
    let reply = wire(body, &Framing::Whole, then);
    stage.play(client, transcript.speaks, Reply { pieces: vec![reply], then, apart: true })
}

fn compare(what: &str, expected: &Told, told: &Told) -> Result<(), String> {
    if expected == told {
        return Ok(());
    }
    Err(format!("{what}:\nexpected {expected:#?}\ngot {told:#?}"))
}

/// Every transcript for every client, with what is to come of it.
fn expected() -> Arc<BTreeMap<(usize, usize), Told>> {
    let stage = Stage::open();
    let mut made = BTreeMap::new();
    for (place, transcript) in all().iter().enumerate() {
        for (number, client) in CLIENTS.into_iter().enumerate() {
            let told = unsplit(&stage, client, transcript, &transcript.bytes("\n"), Then::Rest);
            told.check(client).unwrap_or_else(|what| panic!("{}, {client:?}: {what}", transcript.name));
            transcript.check(&told).unwrap_or_else(|what| panic!("{}, {client:?}: {what}", transcript.name));
            made.insert((place, number), told);
        }
    }
    Arc::new(made)
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
    each(&cases, |stage, &(((place, client), end), cuts)| {
        let transcript = &transcripts[place];
        let dice = Chance::new(7);
        for framing in
            [Framing::Whole, Framing::Length, Framing::Chunks(vec![1]), Framing::Chunks(vec![13, 4, 90])]
        {
            let bytes = wire(&transcript.bytes(end), &framing, Then::Rest);
            let reply = Reply { pieces: cuts.pieces(&bytes, &dice), then: Then::Rest, apart: true };
            let told = stage.play(CLIENTS[client], transcript.speaks, reply);
            let what = format!("{}, {end:?}, {:?}, {cuts:?}, {framing:?}", transcript.name, CLIENTS[client]);
            compare(&what, &expected[&(place, client)], &told)?;
        }
        Ok(())
    });
    println!("{} transcripts, {} splits", transcripts.len(), cases.len() * 4);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a failing seed is asked for again")]
fn any_split_gives_the_same_events_and_the_same_bill() {
    let asked = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let seeds: Vec<u64> = match asked("GATEHOUSE_SEED") {
        Some(seed) => vec![seed],
        None => (0..asked("GATEHOUSE_SEEDS").unwrap_or(SEEDS)).collect(),
    };
    let (expected, transcripts) = (expected(), all());
    each(&seeds, |stage, &seed| {
        let dice = Chance::new(seed);
        let (place, client) = (dice.below(transcripts.len()), dice.below(CLIENTS.len()));
        let (transcript, end) = (&transcripts[place], ENDS[dice.below(ENDS.len())]);
        let framing = Framing::any(&dice);
        let bytes = wire(&transcript.bytes(end), &framing, Then::Rest);
        let cuts = Cuts::any(&dice);
        let apart = !dice.once_in(4);
        let reply = Reply { pieces: cuts.pieces(&bytes, &dice), then: Then::Rest, apart };
        let told = stage.play(CLIENTS[client], transcript.speaks, reply);
        let again = format!("seed {seed} (again: GATEHOUSE_SEED={seed})");
        let what =
            format!("{again}: {}, {end:?}, {:?}, {cuts:?}, {framing:?}", transcript.name, CLIENTS[client]);
        compare(&what, &expected[&(place, client)], &told)
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
    each(&cases, |stage, &(((place, client), then), end)| {
        let transcript = &transcripts[place];
        let bytes = transcript.bytes(end);
        let dice = Chance::new(place as u64);
        let samples = (0..SAMPLES).map(|_| dice.below(bytes.len()));
        for at in transcript.boundaries(end).into_iter().chain(samples) {
            let body = &bytes[..at];
            let what = format!("{}, {end:?}, {client:?}, {then:?} after {at} bytes", transcript.name);
            let first = unsplit(stage, client, transcript, body, then);
            first.check(client).map_err(|wrong| format!("{what}: {wrong}\n{first:#?}"))?;
            played.fetch_add(1, Ordering::SeqCst);
            whole.fetch_add(usize::from(first.error.is_none()), Ordering::SeqCst);
            for cuts in [Cuts::EveryByte, Cuts::Lines, Cuts::Traps, Cuts::Few] {
                let framing = Framing::any(&dice);
                let bytes = wire(body, &framing, then);
                let reply = Reply { pieces: cuts.pieces(&bytes, &dice), then, apart: cuts != Cuts::Few };
                let told = stage.play(client, transcript.speaks, reply);
                compare(&format!("{what}, {cuts:?}, {framing:?}"), &first, &told)?;
            }
        }
        Ok(())
    });
    let (played, whole) = (played.into_inner(), whole.into_inner());
    println!("{played} cuts, after {whole} of them the answer was whole");
    assert!(whole > 0 && whole < played / 2, "{whole} of {played}");
}
