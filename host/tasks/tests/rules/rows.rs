//! Rows above an engine: each is fetched once, those at work outlive commits within a bound, and a command that stops leaves
//! nothing.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use gatehouse_model::{Credits, CustomerId, CustomerPolicy};
use gatehouse_sample::{START, beginning, completed, customer_id};
use gatehouse_tasks::{
    Applied, Backend, Command, Kept, List, MemoryLedgerStorage, Rejection, Row, RowChange, RowKey, Rows,
    apply,
};

use super::{finish, submit};

/// An engine in memory that counts what is fetched, and cannot be reached after so many rows.
#[derive(Clone, Default)]
struct Engine {
    rows: Rc<RefCell<BTreeMap<RowKey, Row>>>,
    fetched: Rc<Cell<usize>>,
    most: Rc<Cell<Option<usize>>>,
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
        is_changed: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, Self::Error> {
        let rows = self.rows.borrow();
        let free = rows.iter().filter(|(key, _)| !is_changed(key));
        Ok(free.filter_map(|(key, row)| Some((list.place(key, row)?, key.clone()))).min())
    }

    fn commit(&mut self, changes: &[RowChange]) -> Result<(), Self::Error> {
        for RowChange { key, before, after } in changes {
            let mut rows = self.rows.borrow_mut();
            let found = match after {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
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
    let commands = beginning().into_iter().map(|row| row.command(&MemoryLedgerStorage::default(), START));
    let (kept, _) = engine.run(Kept::default(), commands);
    (engine, kept)
}

fn deposit(customer: u8) -> Command {
    Command::Deposit { customer: customer_id(customer), amount: Credits(5), memo: String::new(), at: START }
}

/// Every command of a busy customer would read its rows anew.
#[test]
fn the_next_commands_of_a_customer_fetch_what_is_new_alone() {
    let (engine, kept) = begun();
    let (kept, deposited) = engine.run(kept, [deposit(0)]);
    let (kept, submitted) = engine.run(kept, [submit(1, 0, 1), submit(2, 0, 1)]);
    // Whether the customer has webhooks is asked with the first end, and then known.
    let (kept, ended) = engine.run(kept, [finish(1, 0, completed(1))]);
    let (_, next) = engine.run(kept, [finish(2, 0, completed(1))]);
    assert_eq!(
        (deposited, submitted, ended, next),
        (0, 4, 2, 1),
        "a task and its hold are new; it ends once"
    );
    let (_, anew) = engine.run(Kept::default(), [deposit(0)]);
    assert_eq!(anew, 2, "the customer, and where the ledger ends");
}

/// A process that has met many customers would keep them all in memory.
#[test]
fn rows_that_are_not_used_are_forgotten() {
    let (engine, mut kept) = begun();
    for number in 0..20_000 {
        let id = CustomerId(format!("other {number}"));
        let command = Command::AddCustomer { id, policy: CustomerPolicy::default(), at: START };
        (kept, _) = engine.run(kept, [command]);
    }
    let (kept, fetched) = engine.run(kept, [deposit(0)]);
    assert_eq!(fetched, 2, "the customer, and where the ledger ends");
    assert_eq!(engine.run(kept, [deposit(0)]).1, 0);
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
    assert_eq!(
        apply(&mut rows, submit(1, 0, 7)).unwrap(),
        Err(Rejection::TaskExists(gatehouse_sample::task_id(1)))
    );
    assert_eq!(rows.changed().count(), 0, "nor does one that is refused");
}
