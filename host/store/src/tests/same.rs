//! The store and the storage in memory give the same answers and end up with the same rows, however the commands
//! fall into batches (I22, I24).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_sample::{CommandTemplate, START, STEP, command_sequences};
use gatehouse_tasks::{Kept, MemoryLedgerStorage};
use proptest::prelude::*;

use super::{Dump, remember};
use crate::config::Config;
use crate::engine::rows::FileEngine;
use crate::store::Store;
use crate::transaction::open::{OpenTransaction, Outcome, commit, commit_with};
use crate::wait::WriterWait;
use gatehouse_fault_injection::Disk;

/// Plays the templates in batches of the given sizes, again and again.
pub(super) fn play(
    templates: &[CommandTemplate],
    sizes: &[usize],
    mut batch: impl FnMut(Vec<gatehouse_tasks::Command>, &[Outcome]),
) -> MemoryLedgerStorage {
    let mut storage = MemoryLedgerStorage::default();
    let (mut at, mut sizes) = (START, sizes.iter().copied().cycle());
    let mut rest = templates;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
        rest = later;
        let (mut commands, mut verdicts) = (vec![], vec![]);
        for template in now {
            at = at.plus(STEP);
            let command = template.command(&storage, at);
            verdicts.push(remember(&mut storage, command.clone()));
            commands.push(command);
        }
        batch(commands, &verdicts);
    }
    storage
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    // Rows are fetched anew for each batch, or kept from the one before; and where the engine is away at every first access, each
    // command begins again at each row that it has to know.
    #[test]
    fn the_store_and_the_memory_agree(
        templates in command_sequences(60),
        sizes in proptest::collection::vec(1..12_usize, 1..5),
        days in 0..4_u32,
        (keeps, misses) in any::<(bool, bool)>(),
    ) {
        let store = super::memory_store();
        let (wait, mut kept, asked) = (Arc::<WriterWait>::default(), Kept::default(), AtomicUsize::new(0));
        if misses {
            wait.ask_engine(move |_| asked.fetch_add(1, Ordering::Relaxed) % 2 == 1);
        }
        let engine = || FileEngine::new(store.database().unwrap(), Arc::clone(&wait));
        let storage = play(&templates, &sizes, |commands, verdicts| {
            let mine = commit_with(engine(), commands, &mut kept).unwrap();
            kept = if keeps { kept.take() } else { Kept::default() };
            assert_eq!(mine, verdicts);
        });
        prop_assert_eq!(Dump::of_store(&store), Dump::of_memory(&storage));
        prop_assert_eq!(store.examine().unwrap(), storage.examine());
        let engine = FileEngine::new(store.database().unwrap(), Arc::default());
        let mut open = OpenTransaction::begin(engine, kept);
        let (mut storage, day) = (storage, START.day() + days);
        prop_assert_eq!(open.drop_history(day).unwrap(), storage.drop_history(day));
        open.commit().unwrap();
        prop_assert_eq!(Dump::of_store(&store), Dump::of_memory(&storage));
    }

    #[test]
    fn a_reopened_store_goes_on_where_it_stopped(templates in command_sequences(40), cut in 0..40_usize) {
        let disk = Disk::default();
        let cut = cut.min(templates.len());
        let mut played = 0;
        let mut store = Some(Store::with_backend(disk.clone(), &Config::default()).unwrap());
        let storage = play(&templates, &[1], |commands, verdicts| {
            if played == cut {
                store.take().unwrap().close();
                store = Some(Store::with_backend(Disk::of(disk.bytes()), &Config::default()).unwrap());
            }
            played += 1;
            let mine = commit(&store.as_ref().unwrap().database().unwrap(), commands).unwrap();
            assert_eq!(mine, verdicts);
        });
        prop_assert_eq!(Dump::of_store(&store.unwrap()), Dump::of_memory(&storage));
    }
}
