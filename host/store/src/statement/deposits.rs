//! What was paid in and taken back, by customer and day: kept for ever, so that a statement adds up without its rows. Spent
//! money is in the sums of usage.

use std::collections::BTreeMap;

use gatehouse_model::Credits;
use gatehouse_tasks::{EntryKind, Examination, JournalEntry};
use redb::{ReadTransaction, ReadableTable as _, WriteTransaction};

use crate::error::StoreError;
use crate::layout::DEPOSIT_DAYS;

/// Credits paid in, and credits taken back, both positive.
pub(crate) type Paid = (i64, i64);

/// By customer and day. All customers together have an empty id.
#[derive(Default)]
pub(crate) struct Deposits(BTreeMap<(String, u32), Paid>);

impl Deposits {
    /// Counts a row of the ledger. At the end of its range a sum stays there.
    pub(crate) fn add(&mut self, entry: &JournalEntry) {
        if entry.kind != EntryKind::Deposit {
            return;
        }
        for customer in [entry.customer.0.as_str(), ""] {
            let sums = self.0.entry((customer.to_owned(), entry.at.day())).or_default();
            *sums = plus(*sums, of(entry.movement.available));
        }
    }

    /// Adds them to the table, which no other commit opens.
    pub(crate) fn write(self, txn: &WriteTransaction) -> Result<(), StoreError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut table = txn.open_table(DEPOSIT_DAYS)?;
        for ((customer, day), new) in self.0 {
            let key = (customer.as_str(), day);
            let before = table.get(key)?.map(|row| row.value()).unwrap_or_default();
            table.insert(key, plus(before, new))?;
        }
        Ok(())
    }
}

fn of(change: Credits) -> Paid {
    match change.0 {
        taken if taken < 0 => (0, taken.saturating_neg()),
        paid => (paid, 0),
    }
}

pub(crate) fn plus((paid, taken): Paid, more: Paid) -> Paid {
    (paid.saturating_add(more.0), taken.saturating_add(more.1))
}

/// The sums are those of the ledger, of which `deposits` has seen every row.
pub(crate) fn check(
    mut deposits: Deposits,
    txn: &ReadTransaction,
    examination: &mut Examination,
) -> Result<(), StoreError> {
    for row in txn.open_table(DEPOSIT_DAYS)?.iter()? {
        let (key, sums) = row?;
        let (customer, day) = key.value();
        if deposits.0.remove(&(customer.to_owned(), day)) != Some(sums.value()) {
            examination.look_up(wrong(customer, day));
        }
    }
    deposits.0.keys().for_each(|(customer, day)| examination.look_up(wrong(customer, *day)));
    Ok(())
}

fn wrong(customer: &str, day: u32) -> String {
    let whose = if customer.is_empty() { "all customers".to_owned() } else { format!("customer {customer}") };
    format!("deposits of {whose} on day {day}: they are not those of the ledger")
}
