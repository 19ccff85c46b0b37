//! Compares what is kept beside the ledger with the ledger, for the doctor: each row is listed once for its customer and once for
//! its key, with the balance that the rows so far sum up to; what was paid in and taken back is summed up by customer and day.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use gatehouse_tasks::{Examination, JournalEntry};
use redb::ReadTransaction;

use crate::engine::ledger::Deposits;
use crate::error::StoreError;
use crate::layout::{CUSTOMER_ROWS, DEPOSIT_DAYS, KEY_ROWS, LEDGER_INDEX, Paid};

/// The ledger as the index must list it. Sums of hashes stand for the lists: the doctor holds no ledger in memory.
#[derive(Default)]
pub(crate) struct StatementCheck(BTreeMap<(&'static str, String), Expected>);

#[derive(Default)]
struct Expected {
    balance: i64,
    entries: u64,
    hashes: u64,
}

impl StatementCheck {
    /// The next row of the ledger.
    pub(crate) fn entry(&mut self, position: u64, entry: &JournalEntry) {
        let moved = entry.movement;
        self.add(CUSTOMER_ROWS, &entry.customer.0, position, moved.available.0);
        if let Some(key) = &entry.key {
            self.add(KEY_ROWS, &key.0, position, moved.reserved.0.wrapping_add(moved.spent.0));
        }
    }

    fn add(&mut self, kind: &'static str, owner: &str, position: u64, change: i64) {
        let expected = self.0.entry((kind, owner.to_owned())).or_default();
        // A ledger whose sums do not fit is found elsewhere.
        expected.balance = expected.balance.wrapping_add(change);
        expected.entries += 1;
        expected.hashes = expected.hashes.wrapping_add(hash(position, expected.balance));
    }

    /// Once every row was seen: what the index lists.
    pub(crate) fn rest(
        mut self,
        txn: &ReadTransaction,
        examination: &mut Examination,
    ) -> Result<(), StoreError> {
        for row in LEDGER_INDEX.open(txn)?.range(..)? {
            let ((kind, owner, _), listed) = row?.both()?;
            let kind = if kind == KEY_ROWS { KEY_ROWS } else { CUSTOMER_ROWS };
            let left = self.0.entry((kind, owner)).or_default();
            for (position, after) in listed {
                left.entries = left.entries.wrapping_sub(1);
                left.hashes = left.hashes.wrapping_sub(hash(position, after.0));
            }
        }
        let wrong = self.0.into_iter().filter(|(_, left)| (left.entries, left.hashes) != (0, 0));
        wrong.for_each(|((kind, owner), _)| {
            examination.look_up(format!(
                "statement of {kind} {owner}: the index does not list its ledger rows as they are"
            ));
        });
        Ok(())
    }
}

fn hash(position: u64, balance: i64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (position, balance).hash(&mut hasher);
    hasher.finish()
}

/// The sums are those of the ledger, of which `deposits` has seen every row.
pub(crate) fn check_deposits(
    mut deposits: Deposits,
    txn: &ReadTransaction,
    examination: &mut Examination,
) -> Result<(), StoreError> {
    for row in DEPOSIT_DAYS.open(txn)?.range(..)? {
        let ((customer, day), sums) = row?.both()?;
        compare_deposits(&mut deposits, &customer, day, sums, examination);
    }
    missing_deposits(&deposits, examination);
    Ok(())
}

/// Compares the sums of a customer and day with those of the ledger, and takes these out.
pub(crate) fn compare_deposits(
    deposits: &mut Deposits,
    customer: &str,
    day: u32,
    found: Paid,
    examination: &mut Examination,
) {
    if deposits.0.remove(&(customer.to_owned(), day)) != Some(found) {
        examination.look_up(wrong(customer, day));
    }
}

/// Once all were compared: those that are not kept.
pub(crate) fn missing_deposits(deposits: &Deposits, examination: &mut Examination) {
    deposits.0.keys().for_each(|(customer, day)| examination.look_up(wrong(customer, *day)));
}

fn wrong(customer: &str, day: u32) -> String {
    let whose = if customer.is_empty() { "all customers".to_owned() } else { format!("customer {customer}") };
    format!("deposits of {whose} on day {day}: they are not those of the ledger")
}
