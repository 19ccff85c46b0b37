//! The index of the ledger by customer and by key: for each commit one row that lists the positions of its ledger rows and the
//! balance after each, so that a page of a statement begins anywhere and reads no more than it shows.

use std::collections::BTreeMap;

use gatehouse_model::Credits;
use gatehouse_tasks::{BalancesAfter, JournalEntry};
use redb::WriteTransaction;

use crate::error::StoreError;
use crate::layout::{self, CUSTOMER_ROWS, KEY_ROWS};
use crate::row::encode;

/// Ledger rows that one row of the index lists: a page reads little more than it shows.
const LISTED: usize = 64;

/// What one row lists: positions of ledger rows, each with the balance after it.
pub(crate) type Listed = Vec<(u64, Credits)>;

/// The ledger rows that the commands of a transaction append.
#[derive(Default)]
pub(crate) struct NewEntries {
    customers: BTreeMap<String, Listed>,
    keys: BTreeMap<String, Listed>,
}

impl NewEntries {
    pub(crate) fn add(&mut self, position: u64, entry: &JournalEntry, after: BalancesAfter) {
        push(&mut self.customers, &entry.customer.0, (position, after.available));
        if let (Some(key), Some(used)) = (&entry.key, after.used) {
            push(&mut self.keys, &key.0, (position, used));
        }
    }

    /// Writes it into the index.
    pub(crate) fn write(self, txn: &WriteTransaction) -> Result<(), StoreError> {
        if self.customers.is_empty() {
            return Ok(());
        }
        let mut index = txn.open_table(layout::LEDGER_INDEX)?;
        for (kind, owners) in [(CUSTOMER_ROWS, self.customers), (KEY_ROWS, self.keys)] {
            for (owner, entries) in owners {
                for listed in entries.chunks(LISTED) {
                    let row = encode("ledger-index", &listed)?;
                    index.insert((kind, owner.as_str(), listed[0].0), row.as_slice())?;
                }
            }
        }
        Ok(())
    }
}

fn push(owners: &mut BTreeMap<String, Listed>, owner: &str, entry: (u64, Credits)) {
    match owners.get_mut(owner) {
        Some(entries) => entries.push(entry),
        None => {
            owners.insert(owner.to_owned(), vec![entry]);
        }
    }
}
