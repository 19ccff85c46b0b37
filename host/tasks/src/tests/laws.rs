//! The invariants, over random command sequences with stale revisions, double ends and repeated ids.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Status, TaskId};
use proptest::prelude::*;

use super::model::{Model, Purse};
use super::run;
use crate::sample::{START, STEP, Wish, wishes};
use crate::{Answer, Command, Entry, MemoryLedgerStorage};

/// The commands a sequence of wishes becomes, each with the books before it.
fn play(wishes: &[Wish], mut step: impl FnMut(&mut MemoryLedgerStorage, Command)) -> MemoryLedgerStorage {
    let mut books = MemoryLedgerStorage::default();
    let mut at = START;
    for wish in wishes {
        at = at.plus(STEP);
        let command = wish.command(&books, at);
        step(&mut books, command);
    }
    books
}

fn purses(books: &MemoryLedgerStorage) -> BTreeMap<gatehouse_model::CustomerId, Purse> {
    let purse = |account: &gatehouse_model::Customer| Purse {
        free: account.available.0,
        held: account.reserved.0,
        spent: account.spent.0,
        paid_in: account.deposited.0,
    };
    books.accounts().map(|account| (account.id.clone(), purse(account))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// I1 to I4, I7, I10 and I24: both opinions agree on every answer, balance, use, status, progress and cost;
    /// and what is refused changes nothing.
    #[test]
    fn the_books_agree_with_a_second_opinion(wishes in wishes(60)) {
        let mut model = Model::default();
        play(&wishes, |books, command| {
            let before = books.clone();
            let expected = model.accept(&command);
            let verdict = run(books, command.clone());
            assert_eq!(verdict.is_ok(), expected, "{command:?}: {verdict:?}");
            if verdict.is_err() {
                assert_eq!(&before, books, "{command:?}");
            }
            assert_eq!(purses(books), model.purses, "{command:?}");
            for key in books.keys() {
                assert_eq!(key.used.0, model.passes[&key.id].used, "{command:?}");
                assert!(key.quota.is_none_or(|quota| key.used <= quota));
            }
            let mut seen = 0;
            for task in books.live_tasks().chain(books.finished_tasks()) {
                let job = &model.jobs[&task.id];
                let mine = (task.revision, task.status, task.progress, task.cost.map_or(0, |cost| cost.0));
                assert_eq!(mine, (job.revision, job.status, job.progress, job.cost), "{command:?}");
                seen += 1;
            }
            assert_eq!(seen, model.jobs.len());
        });
    }

    /// I1, I2, I3, I4, I6 and I8 as the doctor sees them, after every single command.
    #[test]
    fn the_doctor_never_finds_anything(wishes in wishes(60)) {
        let mut submitted = BTreeSet::new();
        play(&wishes, |books, command| {
            // Ids are used once; the pool of the sample is small, and history that was dropped knows no ids.
            let reused = matches!(&command, Command::Submit { task, .. } if submitted.contains(&task.id));
            if !reused && run(books, command.clone()).is_ok()
                && let Command::Submit { task, .. } = &command
            {
                submitted.insert(task.id);
            }
            let report = books.examine();
            assert!(report.is_clean(), "{command:?}: {report:?}");
        });
    }

    /// I6: what is in the ledger stays as it is.
    #[test]
    fn the_ledger_only_grows(wishes in wishes(60)) {
        let mut written: Vec<Entry> = Vec::new();
        play(&wishes, |books, command| {
            let _ = run(books, command);
            assert_eq!(&books.ledger()[..written.len()], written.as_slice());
            written = books.ledger().to_vec();
        });
    }

    /// I10 and I14: status, progress and revision never go back; what has ended stays exactly as it ended.
    #[test]
    fn tasks_never_go_back(wishes in wishes(60)) {
        let mut known: BTreeMap<TaskId, gatehouse_model::Task> = BTreeMap::new();
        play(&wishes, |books, command| {
            // A task of the sample that was dropped may be made anew; that is another task.
            let dropping = matches!(command, Command::DropHistory { .. });
            let _ = run(books, command);
            let now: BTreeMap<_, _> =
                books.live_tasks().chain(books.finished_tasks()).map(|task| (task.id, task.clone())).collect();
            for (id, old) in &known {
                let Some(new) = now.get(id) else {
                    assert!(dropping && old.status.is_final());
                    continue;
                };
                if old.status.is_final() {
                    assert_eq!(old, new);
                }
                assert!(new.status >= old.status || new.status == Status::Failed);
                assert!(new.progress >= old.progress && new.progress <= 100 && new.revision >= old.revision);
            }
            known = now;
        });
    }

    /// I5: a command that comes again, at once or at the end of everything, moves no money. Deposits are the
    /// stated exception, a sweep releases what is due whenever it comes, and ids of requests are used once.
    #[test]
    fn repeated_commands_move_no_money(wishes in wishes(50), order in any::<u64>()) {
        let (mut done, mut requests) = (Vec::new(), BTreeSet::new());
        let mut books = play(&wishes, |books, command| {
            let reused = matches!(&command, Command::Hold { id, .. } if !requests.insert(*id));
            if reused || matches!(command, Command::DropHistory { .. }) {
                return;
            }
            let excepted = match run(books, command.clone()) {
                // Its receipt is another task's, and is remembered for a time only.
                Ok(Answer::Repeated(_)) | Err(_) => true,
                Ok(_) => matches!(command, Command::Deposit { .. } | Command::SweepHolds { .. }),
            };
            if !excepted {
                let before = purses(books);
                let _ = run(books, command.clone());
                assert_eq!(before, purses(books), "{command:?}");
                if !matches!(command, Command::Hold { .. }) {
                    done.push(command);
                }
            }
        });
        let before = purses(&books);
        let middle = usize::try_from(order).unwrap_or(0) % done.len().max(1);
        done.rotate_left(middle);
        for command in done {
            let _ = run(&mut books, command.clone());
            prop_assert_eq!(&before, &purses(&books), "{:?}", command);
        }
        prop_assert!(books.examine().is_clean());
    }
}
