//! Power cuts: whatever of the unsynced writes reaches the disk, the store opens on a state that holds every
//! acknowledged batch, whole, and nothing half (I9, I21). The control, a disk that lies about syncs, must fail.

use gatehouse_tasks::MemoryBooks;
use gatehouse_tasks::sample::{START, STEP, Wish, beginning};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config as Proptest, TestRng, TestRunner};

use super::disk::{Disk, Op, redo};
use super::{Dump, remember};
use crate::writer::commit;
use crate::{Config, Store};

const BATCHES: usize = 40;
const IMAGES: usize = 400;

/// Numbers that are the same in every run.
struct Words(u64);

impl Words {
    /// Below `end`, by xorshift64*.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        usize::try_from(word % end as u64).unwrap()
    }
}

/// A history of the disk, and what the books were like after each batch (and before the first).
struct Recording {
    log: Vec<Op>,
    states: Vec<Dump>,
}

fn wishes() -> Vec<Wish> {
    let rng = TestRng::deterministic_rng(Proptest::default().rng_algorithm);
    let mut runner = TestRunner::new_with_rng(Proptest::default(), rng);
    let mut wishes = beginning();
    while wishes.len() < BATCHES * 6 {
        let more = gatehouse_tasks::sample::wishes(60).new_tree(&mut runner).unwrap().current();
        wishes.extend(more.into_iter().skip(beginning().len()));
    }
    wishes
}

fn record() -> Recording {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    disk.acknowledge(0);
    let mut books = MemoryBooks::default();
    let (mut at, mut states) = (START, vec![Dump::of_memory(&books)]);
    for (number, wishes) in wishes().chunks(6).take(BATCHES).enumerate() {
        let mut commands = vec![];
        for wish in wishes {
            at = at.plus(STEP);
            let command = wish.command(&books, at);
            let _ = remember(&mut books, command.clone());
            commands.push(command);
        }
        commit(&store.database().unwrap(), commands).unwrap();
        states.push(Dump::of_memory(&books));
        disk.acknowledge(number + 1);
    }
    Recording { log: disk.log(), states }
}

/// The disk after a power cut at `end`: everything up to the last sync, and any part of what came after it.
/// A disk that lies takes its syncs for nothing.
fn image(log: &[Op], end: usize, lies: bool, words: &mut Words) -> (Vec<u8>, usize) {
    let synced = log[..end].iter().rposition(|op| matches!(op, Op::Sync)).map_or(0, |at| at + 1);
    let sure = if lies { words.below(synced + 1) } else { synced };
    let mut bytes = vec![];
    let mut acknowledged = 0;
    for (at, op) in log[..end].iter().enumerate() {
        if let Op::Acknowledged(batches) = op {
            acknowledged = *batches;
        }
        // Of a write that was cut off, a first part may have arrived.
        match (at < sure, words.below(3), op) {
            (true, ..) | (_, 0, _) => redo(&mut bytes, op),
            (_, 1, Op::Write(offset, data)) => {
                let part = data[..words.below(data.len() + 1)].to_vec();
                redo(&mut bytes, &Op::Write(*offset, part));
            }
            _ => {}
        }
    }
    (bytes, acknowledged)
}

/// Whether the store opens on a whole state that holds at least the acknowledged batches.
fn survives(recording: &Recording, bytes: Vec<u8>, acknowledged: usize) -> bool {
    let opened = std::panic::catch_unwind(|| {
        let store = Store::with_backend(Disk::of(bytes), &Config::default()).ok()?;
        let dump = Dump::of_store(&store);
        store.examine().ok()?;
        Some(dump)
    });
    // One batch may have become durable without anybody having been told.
    let last = (acknowledged + 1).min(recording.states.len() - 1);
    opened.ok().flatten().is_some_and(|dump| recording.states[acknowledged..=last].contains(&dump))
}

#[test]
fn no_power_cut_loses_what_was_acknowledged() {
    let recording = record();
    let mut words = Words(7);
    // Before the first acknowledgement there is no store yet.
    let ready = recording.log.iter().position(|op| matches!(op, Op::Acknowledged(0))).unwrap();
    for _ in 0..IMAGES {
        let end = ready + 1 + words.below(recording.log.len() - ready);
        let (bytes, acknowledged) = image(&recording.log, end, false, &mut words);
        assert!(survives(&recording, bytes, acknowledged), "cut at {end} of {}", recording.log.len());
    }
}

#[test]
fn a_disk_that_lies_about_syncs_is_noticed() {
    let recording = record();
    let mut words = Words(7);
    let lost = (0..30).filter(|_| {
        let (bytes, acknowledged) = image(&recording.log, recording.log.len(), true, &mut words);
        !survives(&recording, bytes, acknowledged)
    });
    assert!(lost.count() > 0);
}
