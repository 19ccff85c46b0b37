//! Power cuts: whatever of the unsynced sectors reaches the disk, at whatever operation, the store opens on the
//! state after some whole batches, all acknowledged ones among them, and its sums are right (I9, I21). So it does
//! when the power goes again while it recovers, and it works on from there.
//!
//! The controls, a disk that lies about syncs and commits that are not made durable, must lose.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use gatehouse_model::{Event, Phase, Task};
use gatehouse_tasks::{Command, Kept, MemoryLedgerStorage, Rows, apply};
use redb::Durability;

use super::workload::Workload;
use super::{Dump, first_commands, remember, store_on_disk};
use crate::config::Config;
use crate::engine::rows::FileEngine;
use crate::engine::write;
use crate::store::Store;
use crate::transaction::open::OpenTransaction;
use gatehouse_fault_injection::{Disk, Op, each_cut};

const SEEDS: Range<u64> = 1..8;
/// Together, all lives must be worth that many images.
const IMAGES: usize = 10_000;
/// Starts of one store: each but the first on a disk that a power cut left.
const STARTS: usize = 5;
const BATCHES: usize = 6;
const IMAGES_PER_CUT: usize = 3;
/// Recovery takes few operations, so each is looked at more closely.
const IMAGES_PER_CUT_OF_RECOVERY: usize = 16;
/// Repeats one run: the seed a failure names.
const REPLAY: &str = "GATEHOUSE_CRASH_SEED";

/// What the storage were like after a batch, and what comes next from there.
#[derive(Clone)]
pub(super) struct Checkpoint {
    pub(super) storage: MemoryLedgerStorage,
    pub(super) dump: Dump,
    pub(super) workload: Workload,
}

impl Checkpoint {
    /// Before the first batch.
    pub(super) fn empty(seed: u64, longest: usize) -> Self {
        let storage = MemoryLedgerStorage::default();
        Self { dump: Dump::of_memory(&storage), storage, workload: Workload::new(seed, longest) }
    }

    /// The next commands, and the checkpoint after them.
    pub(super) fn next_batch(&self, commands: usize) -> (Vec<Command>, Self) {
        let Self { mut storage, mut workload, .. } = self.clone();
        let mut batch = vec![];
        if storage.customers().next().is_none() {
            batch.extend(first_commands());
            batch.iter().for_each(|command| drop(remember(&mut storage, command.clone())));
        }
        for _ in 0..commands {
            let command = workload.command(&storage);
            drop(remember(&mut storage, command.clone()));
            batch.push(command);
        }
        (batch, Self { dump: Dump::of_memory(&storage), storage, workload })
    }

    /// The checkpoint after history was dropped.
    fn without_history(mut self) -> (u32, Self) {
        let day = self.workload.old_days();
        self.storage.drop_history(day);
        (day, Self { dump: Dump::of_memory(&self.storage), ..self })
    }

    /// The checkpoint after that command.
    pub(super) fn after(&self, command: &Command) -> Self {
        let Self { mut storage, workload, .. } = self.clone();
        drop(remember(&mut storage, command.clone()));
        Self { dump: Dump::of_memory(&storage), storage, workload }
    }
}

/// The checkpoint the store opens on.
///
/// # Errors
/// Why it is none of these.
pub(super) fn recover(
    bytes: Vec<u8>,
    checkpoints: &[Checkpoint],
    allowed: Range<usize>,
) -> Result<usize, String> {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let store =
            Store::with_backend(Disk::of(bytes), &Config::default()).map_err(|error| error.to_string())?;
        let report = store.examine().map_err(|error| error.to_string())?;
        Ok::<_, String>((Dump::of_store(&store), report))
    }));
    let (dump, report) = opened.map_err(|_| "it panicked".to_owned())??;
    if !report.is_clean() {
        return Err(format!("the doctor finds {:?}", report.findings));
    }
    let found = allowed.clone().find(|checkpoint| checkpoints[*checkpoint].dump == dump);
    found.ok_or_else(|| {
        let other = checkpoints.iter().position(|checkpoint| checkpoint.dump == dump);
        format!("expected the state after batch {allowed:?}, not that of {other:?}")
    })
}

#[derive(Debug, Default)]
struct Counts {
    images: usize,
    /// Cut while the store was recovering from an earlier cut.
    while_recovering: usize,
    /// Prepared on a batch that was durable before it was acknowledged.
    ahead: usize,
    /// Where the file's length was in doubt.
    lengths: usize,
    /// Days of history that batches have dropped.
    dropped: usize,
    /// States with a request that joined and waits, with one that is being delivered, with a result of a task that
    /// goes on, with names, and with an ambiguous call.
    cases: [usize; 5],
}

/// Which of [`Counts::cases`] a state is.
fn cases(storage: &MemoryLedgerStorage) -> [bool; 5] {
    let any = |is: fn(&Task) -> bool| storage.live_tasks().any(is);
    [
        any(|task| !task.joined.is_empty()),
        any(|task| matches!(task.phase, Phase::Run(Event::Joined(_))) && !task.brief.is_empty()),
        any(|task| !task.public.is_empty()),
        storage.names().next().is_some(),
        any(|task| task.phase.ambiguous_call().is_some()),
    ]
}

/// One store from its first start on.
struct CrashRun {
    random: Rng,
    checkpoints: Vec<Checkpoint>,
    counts: Counts,
}

impl CrashRun {
    fn new(seed: u64) -> Self {
        // Every fourth store has rows that make the file grow.
        let longest = if seed.is_multiple_of(4) { 200_000 } else { 9_000 };
        Self {
            random: Rng::with_seed(!seed),
            checkpoints: vec![Checkpoint::empty(seed, longest)],
            counts: Counts::default(),
        }
    }

    /// Starts again and again on a disk that a power cut left.
    fn live(mut self) -> Result<Counts, String> {
        let mut disk = vec![];
        for start in 0..STARTS {
            let log = self.work(&disk)?;
            let (left, checkpoint) =
                self.cut(disk, &log, start > 0).map_err(|reason| format!("start {start}, {reason}"))?;
            disk = left;
            self.checkpoints.truncate(checkpoint + 1);
        }
        Ok(self.counts)
    }

    /// Opens the store, works a while, and closes it or not: what the disk saw of it.
    fn work(&mut self, bytes: &[u8]) -> Result<Vec<Op>, String> {
        let disk = Disk::of(bytes.to_vec());
        let store =
            Store::with_backend(disk.clone(), &Config::default()).map_err(|error| error.to_string())?;
        disk.acknowledge(self.checkpoints.len() - 1);
        let mut kept = Kept::default();
        for batch in 0..BATCHES {
            let (commands, mut checkpoint) =
                self.checkpoints[self.checkpoints.len() - 1].next_batch(1 + self.random.usize(..9));
            let engine = FileEngine::new(store.database().unwrap(), Arc::default());
            let mut transaction = OpenTransaction::begin(engine, std::mem::take(&mut kept));
            for command in commands {
                drop(transaction.apply(command).map_err(|error| error.to_string())?);
            }
            if batch % 2 == 1 {
                let (day, after) = checkpoint.without_history();
                let dropped = transaction.drop_history(day).map_err(|error| error.to_string())?;
                (checkpoint, self.counts.dropped) = (after, self.counts.dropped + dropped);
            }
            kept = transaction.commit().map_err(|error| error.to_string())?.kept;
            self.checkpoints.push(checkpoint);
            disk.acknowledge(self.checkpoints.len() - 1);
        }
        if self.random.usize(..2) == 0 {
            store.close();
        }
        Ok(disk.log())
    }

    /// Plays power cuts at every operation; one of the disks they leave, and its checkpoint.
    fn cut(&mut self, disk: Vec<u8>, log: &[Op], again: bool) -> Result<(Vec<u8>, usize), String> {
        let ready = log.iter().position(|op| matches!(op, Op::Acknowledged(_))).unwrap();
        let chosen = ready + 1 + self.random.usize(..log.len() - ready);
        let before = self.checkpoints.len() - 1 - BATCHES;
        let mut left = None;
        let Self { random, checkpoints, counts } = self;
        each_cut(disk, log, |cut| {
            // One batch may have become durable without an acknowledgement; none while recovering.
            let (allowed, most) = match cut.acknowledged {
                Some(batches) => (batches..(batches + 2).min(checkpoints.len()), IMAGES_PER_CUT),
                None if again => (before..before + 1, IMAGES_PER_CUT_OF_RECOVERY),
                // The first start has made no store yet: see the tests of file creation.
                None => return Ok(()),
            };
            for (number, image) in cut.images(most, random).into_iter().enumerate() {
                counts.images += 1;
                counts.while_recovering += usize::from(cut.acknowledged.is_none());
                counts.lengths += usize::from(cut.doubts_length());
                let kept = (cut.at == chosen && left.is_none()).then(|| image.clone());
                let checkpoint = recover(image, checkpoints, allowed.clone())
                    .map_err(|reason| format!("cut {} of {}, image {number}: {reason}", cut.at, log.len()))?;
                counts.ahead += usize::from(checkpoint > allowed.start);
                for (count, is) in counts.cases.iter_mut().zip(cases(&checkpoints[checkpoint].storage)) {
                    *count += usize::from(is);
                }
                left = left.take().or_else(|| Some((kept?, checkpoint)));
            }
            Ok(())
        })?;
        Ok(left.expect("the chosen cut leaves a disk"))
    }
}

#[test]
fn no_power_cut_loses_what_was_acknowledged() {
    #[expect(clippy::disallowed_methods, reason = "how a person replays a failure")]
    let replayed = std::env::var(REPLAY).ok().map(|seed| seed.parse::<u64>().expect("a seed"));
    let seeds = replayed.map_or(SEEDS, |seed| seed..seed + 1);
    let (next, total) = (AtomicU64::new(seeds.start), Mutex::new(Counts::default()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return;
            }
            let counts = CrashRun::new(seed)
                .live()
                .unwrap_or_else(|reason| panic!("seed {seed}, {reason}; {REPLAY}={seed} replays it"));
            let mut total = total.lock().unwrap();
            total.images += counts.images;
            total.while_recovering += counts.while_recovering;
            total.ahead += counts.ahead;
            total.lengths += counts.lengths;
            total.dropped += counts.dropped;
            (0..5).for_each(|case| total.cases[case] += counts.cases[case]);
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().expect("no panic");
    });
    let total = total.into_inner().unwrap();
    println!("{total:?}");
    if replayed.is_none() {
        assert!(total.images >= IMAGES, "{total:?}");
        assert!(total.while_recovering > 100 && total.ahead > 100 && total.lengths > 100, "{total:?}");
        assert!(total.dropped > 5, "{total:?}");
        assert!(total.cases.iter().all(|images| *images > 100), "{total:?}");
    }
}

/// How many images of a store's first start lose something, and how many there are.
fn losses(log: &[Op], checkpoints: &[Checkpoint]) -> (usize, usize) {
    let (mut random, mut lost, mut images) = (Rng::with_seed(3), 0, 0);
    each_cut(vec![], log, |cut| {
        let Some(batches) = cut.acknowledged.filter(|batches| *batches > 0) else { return Ok(()) };
        for image in cut.images(2, &mut random) {
            let allowed = batches..(batches + 2).min(checkpoints.len());
            images += 1;
            lost += usize::from(recover(image, checkpoints, allowed).is_err());
        }
        Ok(())
    })
    .unwrap();
    (lost, images)
}

#[test]
fn a_disk_that_skips_syncs_is_noticed() {
    let mut run = CrashRun::new(1);
    let mut log = run.work(&[]).unwrap();
    assert_eq!(losses(&log, &run.checkpoints).0, 0);
    log.retain(|op| !matches!(op, Op::Sync));
    let (lost, images) = losses(&log, &run.checkpoints);
    assert!(lost > images / 2, "{lost} of {images}");
}

#[test]
fn commits_that_are_not_made_durable_are_noticed() {
    let (disk, store) = store_on_disk();
    let mut checkpoints = vec![Checkpoint::empty(1, 9_000)];
    for number in 0..BATCHES {
        let (commands, checkpoint) = checkpoints[number].next_batch(5);
        let database = store.database().unwrap();
        let mut rows = Rows::new(FileEngine::new(Arc::clone(&database), Arc::default()), Kept::default());
        commands.into_iter().for_each(|command| drop(apply(&mut rows, command).unwrap()));
        let changes = rows.changes();
        drop(rows);
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(Durability::None).unwrap();
        write::write(&txn, &changes).unwrap();
        txn.commit().unwrap();
        checkpoints.push(checkpoint);
        disk.acknowledge(number + 1);
    }
    let (lost, images) = losses(&disk.log(), &checkpoints);
    assert!(images >= BATCHES && lost == images, "{lost} of {images}");
}
