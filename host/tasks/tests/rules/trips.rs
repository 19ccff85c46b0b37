//! How often an engine behind a network is asked for what a command reads, where nothing is known yet: what commands are likely to
//! read is asked for first, and what they still miss when they come to it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gatehouse_sample::{START, completed, join_request, request_id, settle};
use gatehouse_tasks::{
    Backend, Command, Kept, LedgerStorage as _, List, MemoryLedgerStorage, Row, RowChange, RowKey, Rows,
    apply,
};

use super::{deposit, finish, funded, join, run, submit};

/// An engine that answers what it was asked for before, and notes what it was not.
struct Remote<'a> {
    known: &'a BTreeSet<RowKey>,
    rows: &'a BTreeMap<RowKey, Row>,
    missing: RefCell<Vec<RowKey>>,
}

impl Backend for Remote<'_> {
    type Error = ();

    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, ()> {
        if self.known.contains(key) {
            return Ok(self.rows.get(key).cloned());
        }
        self.missing.borrow_mut().push(key.clone());
        Err(())
    }

    fn first(
        &self,
        _: &List,
        _: Option<&(u64, RowKey)>,
        _: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, ()> {
        Ok(None)
    }

    fn commit(&mut self, _: &[RowChange]) -> Result<(), ()> {
        Ok(())
    }
}

/// Trips until a command is applied, each followed by one for what its rows are likely to lead to.
fn trips(rows: &BTreeMap<RowKey, Row>, command: &Command) -> usize {
    let mut known = BTreeSet::new();
    let mut asked: Vec<RowKey> = command.likely_rows();
    let mut trips = 0;
    loop {
        while !asked.is_empty() {
            trips += 1;
            let found = asked.iter().filter_map(|key| rows.get(key));
            let next: Vec<RowKey> = found.flat_map(Row::likely_next).collect();
            known.extend(std::mem::take(&mut asked));
            asked = next.into_iter().filter(|key| !known.contains(key)).collect();
        }
        let engine = Remote { known: &known, rows, missing: RefCell::default() };
        let mut remote = Rows::new(engine, Kept::default());
        remote.begin();
        match apply(&mut remote, command.clone()) {
            Ok(outcome) => {
                outcome.unwrap();
                return trips;
            }
            Err(()) => asked = remote.backend().missing.take(),
        }
    }
}

/// A command of a customer that is not known yet would cost a trip for each row that it reads.
#[test]
fn a_command_costs_a_trip_or_two_where_nothing_is_known() {
    let mut storage = funded();
    let at = START;
    let lasts = (START, Duration::from_secs(60));
    let hold = |number| gatehouse_sample::hold(request_id(number), (0, "model"), 1, lasts);
    run(&mut storage, submit(1, 0, 1)).unwrap();
    run(&mut storage, submit(2, 0, 1)).unwrap();
    run(&mut storage, hold(1)).unwrap();
    let rows = |storage: &MemoryLedgerStorage| -> BTreeMap<RowKey, Row> {
        storage.changed().map(|(key, row)| (key.clone(), row.clone())).collect()
    };
    for (command, most) in [
        (submit(3, 0, 1), 1),
        (hold(2), 2),
        (settle(request_id(1), 1, at), 2),
        (Command::Release { id: request_id(1), at }, 2),
        (finish(1, 0, completed(1)), 2),
        (deposit(0, 1), 1),
        (join(2, join_request(0, 1, START)), 2),
    ] {
        assert!(trips(&rows(&storage), &command) <= most, "{command:?}");
    }
}
