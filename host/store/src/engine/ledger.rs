//! Entries of the ledger, and what is kept of them beside: by customer and by key for each commit one row that lists the positions
//! of entries and the balance after each, so that a page of a statement begins anywhere and reads no more than it shows; and what
//! was paid in and taken back, by customer and day, kept for ever, so that a statement adds up without its rows.

use std::collections::BTreeMap;

use gatehouse_model::Credits;
use gatehouse_tasks::{BalancesAfter, EntryKind, JournalEntry, RowChange, RowKey};
use redb::WriteTransaction;

use crate::engine::write::sides;
use crate::error::StoreError;
use crate::layout::{CUSTOMER_ROWS, DEPOSIT_DAYS, KEY_ROWS, LEDGER, LEDGER_INDEX, Listed, Paid};

/// Entries that one row of the index lists: a page reads little more than it shows.
const LISTED: usize = 64;

pub(super) fn write(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut ledger = LEDGER.open_to_write(txn)?;
    let (mut lists, mut deposits) = (BTreeMap::<_, Listed>::new(), Deposits::default());
    for change in group {
        let RowKey::Entry(position) = change.key else { continue };
        let (_, Some((entry, after))) = sides::<(JournalEntry, BalancesAfter)>(change) else { continue };
        ledger.insert(position, entry)?;
        let customer = (CUSTOMER_ROWS, entry.customer.0.as_str());
        lists.entry(customer).or_default().push((position, after.available));
        if let (Some(key), Some(used)) = (&entry.key, after.used) {
            lists.entry((KEY_ROWS, key.0.as_str())).or_default().push((position, used));
        }
        deposits.add(entry);
    }
    let mut index = LEDGER_INDEX.open_to_write(txn)?;
    for ((kind, owner), entries) in lists {
        for listed in entries.chunks(LISTED) {
            index.insert((kind, owner, listed[0].0), &listed.to_vec())?;
        }
    }
    deposits.write(txn)
}

/// By customer and day. All customers together have an empty id.
#[derive(Default)]
pub(crate) struct Deposits(pub(crate) BTreeMap<(String, u32), Paid>);

impl Deposits {
    /// Counts an entry. At the end of its range a sum stays there.
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
    fn write(self, txn: &WriteTransaction) -> Result<(), StoreError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut table = DEPOSIT_DAYS.open_to_write(txn)?;
        for ((customer, day), new) in self.0 {
            let key = (customer.as_str(), day);
            let before = table.get(key)?.unwrap_or_default();
            table.insert(key, &plus(before, new))?;
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
