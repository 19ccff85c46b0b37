//! The store and the books in memory give the same answers and end up with the same rows, however the commands
//! fall into batches (I22, I24).

use gatehouse_tasks::MemoryLedgerStorage;
use gatehouse_tasks::sample::{START, STEP, Wish, wishes};
use proptest::prelude::*;

use super::{Dump, remember};
use crate::power::Disk;
use crate::writer::{Verdict, commit};
use crate::{Config, Store};

/// Plays the wishes in batches of the given sizes, again and again.
fn play(
    wishes: &[Wish],
    sizes: &[usize],
    mut batch: impl FnMut(Vec<gatehouse_tasks::Command>, &[Verdict]),
) -> MemoryLedgerStorage {
    let mut books = MemoryLedgerStorage::default();
    let (mut at, mut sizes) = (START, sizes.iter().copied().cycle());
    let mut rest = wishes;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
        rest = later;
        let (mut commands, mut verdicts) = (vec![], vec![]);
        for wish in now {
            at = at.plus(STEP);
            let command = wish.command(&books, at);
            verdicts.push(remember(&mut books, command.clone()));
            commands.push(command);
        }
        batch(commands, &verdicts);
    }
    books
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_and_the_memory_agree(wishes in wishes(60), sizes in proptest::collection::vec(1..12_usize, 1..5)) {
        let store = super::memory_store();
        let books = play(&wishes, &sizes, |commands, verdicts| {
            let mine = commit(&store.database().unwrap(), commands).unwrap();
            assert_eq!(mine, verdicts);
        });
        prop_assert_eq!(Dump::of_store(&store), Dump::of_memory(&books));
        // Ids of dropped tasks may come again in a sample, and the doctor would say so: compare, not judge.
        prop_assert_eq!(store.examine().unwrap(), books.examine());
    }

    #[test]
    fn a_reopened_store_goes_on_where_it_stopped(wishes in wishes(40), cut in 0..40_usize) {
        let disk = Disk::default();
        let cut = cut.min(wishes.len());
        let mut played = 0;
        let mut store = Some(Store::with_backend(disk.clone(), &Config::default()).unwrap());
        let books = play(&wishes, &[1], |commands, verdicts| {
            if played == cut {
                store.take().unwrap().close();
                store = Some(Store::with_backend(Disk::of(disk.bytes()), &Config::default()).unwrap());
            }
            played += 1;
            let mine = commit(&store.as_ref().unwrap().database().unwrap(), commands).unwrap();
            assert_eq!(mine, verdicts);
        });
        prop_assert_eq!(Dump::of_store(&store.unwrap()), Dump::of_memory(&books));
    }
}
