//! Rows above an engine: each is fetched once, those at work outlive commits within a bound, and a command that stops leaves
//! nothing.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gatehouse_model::{CustomerId, CustomerPolicy, Key};
use gatehouse_sample::{START, beginning, completed, key, key_id, task_id};
use gatehouse_tasks::{
    Applied, Backend, Command, Kept, LedgerStorage as _, List, MemoryLedgerStorage, Rejection,
    ResponseLimits, Row, RowChange, RowKey, Rows, apply,
};

use super::responses::record;
use super::{deposit, finish, submit};

/// An engine in memory that counts what is fetched, and cannot be reached after so many rows.
#[derive(Clone, Default)]
struct Engine {
    rows: Rc<RefCell<BTreeMap<RowKey, Row>>>,
    fetched: Rc<Cell<usize>>,
    most: Rc<Cell<Option<usize>>>,
    /// Rows of lists that look-ups went over.
    seen: Rc<Cell<usize>>,
    /// The most that a change said of the content of a response that it takes out, bytes.
    content: Rc<Cell<u64>>,
}

impl Backend for Engine {
    type Error = &'static str;

    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, Self::Error> {
        if self.most.get() == Some(self.fetched.get()) {
            return Err("away");
        }
        self.fetched.set(self.fetched.get() + 1);
        Ok(self.rows.borrow().get(key).cloned())
    }

    fn first(
        &self,
        list: &List,
        from: Option<&(u64, RowKey)>,
        is_changed: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, Self::Error> {
        let rows = self.rows.borrow();
        let listed = rows.iter().filter_map(|(key, row)| {
            let (of, place) = List::of(key, row)?;
            (of == *list).then(|| (place, key.clone()))
        });
        let listed: BTreeSet<_> = listed.filter(|row| from.is_none_or(|from| row >= from)).collect();
        Ok(listed.into_iter().find(|(_, key)| {
            self.seen.set(self.seen.get() + 1);
            !is_changed(key)
        }))
    }

    fn commit(&mut self, changes: &[RowChange]) -> Result<(), Self::Error> {
        for RowChange { key, before, after } in changes {
            let mut rows = self.rows.borrow_mut();
            let found = match after {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
            if let (Some(Row::Response(before)), None) = (before, after) {
                self.content.set(self.content.get().max(before.size()));
                continue;
            }
            assert!(found == *before || key.is_written_only(), "{key:?} was {found:?}, not {before:?}");
        }
        Ok(())
    }
}

impl Engine {
    /// Applies the commands and commits them; the rows kept, and how many were fetched.
    fn run(&self, kept: Kept, commands: impl IntoIterator<Item = Command>) -> (Kept, usize) {
        let before = self.fetched.get();
        let mut rows = Rows::new(self.clone(), kept);
        for command in commands {
            apply(&mut rows, command).unwrap().unwrap();
        }
        let (kept, _) = rows.commit().unwrap();
        (kept, self.fetched.get() - before)
    }
}

fn begun() -> (Engine, Kept) {
    let engine = Engine::default();
    let (kept, _) = engine.run(Kept::default(), first_commands());
    (engine, kept)
}

fn first_commands() -> impl Iterator<Item = Command> {
    beginning().into_iter().map(|row| row.command(&MemoryLedgerStorage::default(), START))
}

/// Every command of a busy customer would read its rows anew.
#[test]
fn the_next_commands_of_a_customer_fetch_what_is_new_alone() {
    let (engine, kept) = begun();
    let (kept, deposited) = engine.run(kept, [deposit(0, 5)]);
    let (kept, submitted) = engine.run(kept, [submit(1, 0, 1), submit(2, 0, 1)]);
    // Whether the customer has webhooks is asked with the first end, and then known.
    let (kept, ended) = engine.run(kept, [finish(1, 0, completed(1))]);
    let (_, next) = engine.run(kept, [finish(2, 0, completed(1))]);
    let fetched = (deposited, submitted, ended, next);
    assert_eq!(fetched, (0, 4, 2, 1), "a task and its hold are new; it ends once");
    let (_, anew) = engine.run(Kept::default(), [deposit(0, 5)]);
    assert_eq!(anew, 2, "the customer, and where the ledger ends");
}

/// A process that has met many customers would keep them all in memory.
#[test]
fn rows_that_are_not_used_are_forgotten() {
    let (engine, _) = begun();
    let (mut kept, _) = engine.run(Kept::within(1 << 20), [deposit(0, 5)]);
    for number in 0..4_000 {
        let id = CustomerId(format!("other {number}"));
        let command = Command::AddCustomer { id, policy: CustomerPolicy::default(), at: START };
        (kept, _) = engine.run(kept, [command]);
    }
    let (kept, fetched) = engine.run(kept, [deposit(0, 5)]);
    assert_eq!(fetched, 2, "the customer, and where the ledger ends");
    assert_eq!(engine.run(kept, [deposit(0, 5)]).1, 0);
}

/// A process whose keys list many models would hold as many large rows as small ones.
#[test]
fn large_rows_take_the_room_of_many() {
    let engine = Engine::default();
    let (mut kept, _) = engine.run(Kept::within(16 << 20), []);
    let add = |number: u8, models: usize| {
        let key = Key { models: vec!["m".repeat(models << 20)], ..key(number, 0, None) };
        Command::AddKey { key: Box::new(key) }
    };
    (kept, _) = engine.run(kept, first_commands());
    for number in 10..74 {
        (kept, _) = engine.run(kept, [add(number, 1)]);
    }
    let known = |kept: Kept| {
        let rows = Rows::new(engine.clone(), kept);
        (10..138).filter(|number| rows.knows(&RowKey::Key(key_id(*number)))).count()
    };
    let count = known(kept.clone());
    assert!((7..=17).contains(&count), "{count} rows of 1 MiB are known, with room for 16");
    // One batch brings more than there is room for.
    let (all, _) = engine.run(kept, (74..138).map(|number| add(number, 1)));
    assert_eq!(known(all), 0);
}

/// A batch would go on with half a command, whose other half is applied again once the engine is back.
#[test]
fn a_command_that_stops_at_a_row_changes_nothing() {
    let (engine, kept) = begun();
    let (kept, _) = engine.run(kept, [submit(1, 0, 7)]);
    let mut stops = 0;
    for most in 0.. {
        let mut rows = Rows::new(engine.clone(), Kept::default());
        engine.most.set(Some(engine.fetched.get() + most));
        let applied = apply(&mut rows, finish(1, 0, completed(7)));
        engine.most.set(None);
        if let Ok(applied) = applied {
            assert!(matches!(applied, Ok(Applied::Task(_))));
            break;
        }
        assert_eq!((applied, rows.changed().count()), (Err("away"), 0));
        stops += 1;
        assert!(apply(&mut rows, finish(1, 0, completed(7))).unwrap().is_ok(), "it begins again");
    }
    assert!(stops > 4, "{stops}");
    let mut rows = Rows::new(engine, kept);
    assert_eq!(apply(&mut rows, submit(1, 0, 7)).unwrap(), Err(Rejection::TaskExists(task_id(1))));
    assert_eq!(rows.changed().count(), 0, "nor does one that is refused");
}

fn keep(number: u64, count: u64) -> Command {
    let limits = ResponseLimits { count, bytes: u64::MAX };
    Command::KeepResponse { record: Box::new(record("a", number, 100)), limits }
}

fn kept(engine: &Engine) -> Vec<String> {
    let rows = engine.rows.borrow();
    let kept = rows.values().filter_map(|row| match row {
        Row::Response(row) => Some(row.id.clone()),
        _ => None,
    });
    kept.collect()
}

/// A lower limit would have the writer go over all rows of a customer for each of them, with all they hold in memory.
#[test]
fn many_responses_make_room_at_once_in_one_pass() {
    let engine = Engine::default();
    let (before, _) = engine.run(Kept::default(), (0..200).map(|number| keep(number, 200)));
    let (before, _) = engine.run(before, [keep(200, 200), keep(201, 100), keep(202, 1)]);
    assert_eq!(kept(&engine), ["resp_202"]);
    assert!(engine.seen.get() <= 2 * 202, "{} rows were looked at", engine.seen.get());
    assert_eq!(engine.content.get(), 0, "bytes stayed in memory until the commit");
    engine.run(before, [keep(203, 1)]);
    assert_eq!(kept(&engine), ["resp_203"]);
}

/// What a command took out before it stopped would stay out for look-ups of its batch, or lose its content.
#[test]
fn what_a_stopped_command_took_out_is_there_again() {
    let engine = Engine::default();
    let (before, _) = engine.run(Kept::default(), (0..9).map(|number| keep(number, 9)));
    let mut rows = Rows::new(engine.clone(), before);
    assert!(apply(&mut rows, keep(9, 9)).unwrap().is_ok());
    engine.most.set(Some(engine.fetched.get() + 4));
    assert_eq!(apply(&mut rows, keep(10, 1)), Err("away"));
    engine.most.set(None);
    let customer = CustomerId::from("a");
    assert_eq!(rows.oldest_response(&customer).unwrap(), Some(record("a", 1, 100)));
    assert!(apply(&mut rows, keep(10, 9)).unwrap().is_ok());
    assert_eq!(rows.oldest_response(&customer).unwrap(), Some(record("a", 2, 100)));
    rows.commit().unwrap();
    let left: BTreeSet<_> = kept(&engine).into_iter().collect();
    assert_eq!(left, (2..11).map(|number| format!("resp_{number}")).collect());
}
