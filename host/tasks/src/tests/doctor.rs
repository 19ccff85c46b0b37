//! The examination finds changed rows and names them.

use gatehouse_model::{Credits, Customer, Digest, Key, Status, Task};

use super::{advance, finish, funded, run, submit};
use crate::commands::command::Command;
use crate::ledger::examination::{Examination, Report};
use crate::ledger::hold::Hold;
use crate::ledger::journal_entry::JournalEntry;
use crate::sample::{START, change, completed, customer_id, failed, request_id};
use crate::storage::memory::MemoryLedgerStorage;

/// Rows as they might be found in a file.
#[derive(Clone)]
struct Rows {
    ledger: Vec<JournalEntry>,
    customers: Vec<Customer>,
    keys: Vec<Key>,
    holds: Vec<Hold>,
    live: Vec<Task>,
    finished: Vec<Task>,
}

impl Rows {
    fn of(storage: &MemoryLedgerStorage) -> Self {
        Self {
            ledger: storage.ledger().to_vec(),
            customers: storage.customers().cloned().collect(),
            keys: storage.keys().cloned().collect(),
            holds: storage.holds().cloned().collect(),
            live: storage.live_tasks().cloned().collect(),
            finished: storage.finished_tasks().cloned().collect(),
        }
    }

    fn examine(&self) -> Report {
        let mut examination = Examination::default();
        self.ledger.iter().for_each(|row| examination.entry(row));
        self.holds.iter().for_each(|row| examination.hold(row));
        self.live.iter().for_each(|row| examination.live(row));
        self.finished.iter().for_each(|row| examination.finished(row));
        self.customers.iter().for_each(|row| examination.customer(row));
        self.keys.iter().for_each(|row| examination.key(row));
        examination.report()
    }

    /// Makes the chain fit again, as a forger with write access would.
    fn rechain(&mut self) {
        let mut chain = Digest::default();
        for entry in &mut self.ledger {
            entry.chain = entry.link(chain);
            chain = entry.chain;
        }
    }
}

/// Two live tasks, one completed, one failed, one request hold.
fn busy() -> Rows {
    let mut storage = funded();
    for number in 0..4 {
        run(&mut storage, submit(number, 0, 10)).unwrap();
    }
    run(&mut storage, advance(1, 0, change(Status::Processing, 50))).unwrap();
    run(&mut storage, finish(2, 0, completed(7))).unwrap();
    run(&mut storage, finish(3, 0, failed())).unwrap();
    let hold = Command::Hold {
        id: request_id(0),
        key: crate::sample::key_id(2),
        amount: Credits(5),
        unit_price: Credits(1),
        expires: START.plus(std::time::Duration::from_secs(60)),
        at: START,
    };
    run(&mut storage, hold).unwrap();
    Rows::of(&storage)
}

fn check(alter: impl FnOnce(&mut Rows), imbalance: i64, expected: &[&str]) {
    let mut rows = busy();
    alter(&mut rows);
    let report = rows.examine();
    let missing: Vec<_> = expected
        .iter()
        .filter(|text| !report.findings.iter().any(|finding| finding.contains(**text)))
        .collect();
    assert!(missing.is_empty(), "{missing:?} not in {:?}", report.findings);
    assert_eq!(report.imbalance, Credits(imbalance));
    assert!(!report.is_clean());
}

#[test]
fn an_unchanged_ledger_is_clean() {
    let report = busy().examine();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.customers, report.keys, report.entries), (2, 3, 9));
    assert_eq!((report.holds, report.live, report.finished), (3, 2, 2));
}

#[test]
fn changed_balances_are_found() {
    let fold = "customer customer-0: its balances are not the sum of its ledger rows";
    check(|rows| rows.customers[0].available.0 += 1, 1, &[fold]);
    check(|rows| rows.customers[0].deposited.0 += 1, 0, &[fold]);
    check(
        |rows| rows.customers[0].spent = Credits(-7),
        -14,
        &[fold, "customer customer-0: a balance is negative"],
    );
    check(|rows| rows.keys[0].used.0 -= 1, 0, &["key key0: its use is not the sum of its ledger rows"]);
    check(|rows| rows.keys[0].quota = Some(Credits(1)), 0, &["key key0: its use is outside its quota"]);
    check(
        |rows| drop(rows.customers.remove(1)),
        -60,
        &["customer customer-1: it is in the ledger, but has no row"],
    );
    check(|rows| drop(rows.keys.remove(2)), 0, &["key key2: it is in the ledger, but has no row"]);
}

#[test]
fn a_changed_ledger_is_found() {
    check(|rows| rows.ledger[1].memo = "a gift".into(), 0, &["ledger row 1: the hash chain is broken"]);
    check(|rows| drop(rows.ledger.remove(1)), 60, &["ledger row 2: expected row 1 here", "hash chain"]);
    let made = |rows: &mut Rows| {
        rows.ledger[0].movement.available.0 += 1;
        rows.rechain();
    };
    check(made, 0, &["ledger row 0: the movement does not sum to zero", "customer customer-0: its balances"]);
    let renamed = |rows: &mut Rows| {
        rows.ledger[0].customer = customer_id(1);
        rows.rechain();
    };
    check(renamed, 0, &["customer customer-0: its balances", "customer customer-1: its balances"]);
}

#[test]
fn a_hold_resolved_twice_is_found() {
    let twice = |rows: &mut Rows| {
        let release = rows.ledger[7].clone();
        rows.ledger.push(JournalEntry { seq: 9, ..release });
        rows.rechain();
    };
    check(twice, 0, &["ledger row 9: hold task_", "is not open", "customer customer-0: its balances"]);
    let reopened = |rows: &mut Rows| {
        let open = rows.ledger[5].clone();
        rows.ledger.push(JournalEntry { seq: 9, ..open });
        rows.rechain();
    };
    check(reopened, 0, &["was opened before"]);
}

#[test]
fn holds_and_tasks_that_miss_each_other_are_found() {
    check(|rows| drop(rows.live.remove(0)), 0, &["its task is not live"]);
    check(|rows| drop(rows.holds.remove(0)), 0, &["open by the ledger, but has no row"]);
    check(|rows| drop(rows.holds.remove(1)), 0, &["open by the ledger", "it is live, but has no hold"]);
    check(|rows| rows.holds[0].amount.0 += 1, 0, &["0.000006 credits, but 0.000005 by the ledger"]);
    check(|rows| rows.live[0].held.0 += 1, 0, &["it and its hold name different amounts"]);
    check(|rows| rows.live[0].deadline = START, 0, &["it has no deadline"]);
    check(|rows| rows.live[0].status = Status::Failed, 0, &["is kept with the live ones"]);
    let closed = |rows: &mut Rows| {
        rows.holds.push(Hold { id: crate::HoldId::Request(request_id(9)), ..rows.holds[0].clone() });
    };
    check(closed, 0, &["the ledger has not opened it"]);
}

#[test]
fn a_wrong_price_of_an_ended_task_is_found() {
    check(
        |rows| rows.finished[0].cost = Some(Credits(8)),
        0,
        &["cost 0.000008 credits, but 0.000007 were settled"],
    );
    check(|rows| rows.finished[1].cost = Some(Credits(1)), 0, &["it failed, but cost 0.000001 credits"]);
    check(|rows| rows.finished[0].status = Status::Pending, 0, &["it has not ended, but is kept"]);
    check(|rows| rows.finished[0].id = crate::sample::task_id(9), 0, &["its hold was never resolved"]);
}
