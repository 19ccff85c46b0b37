//! The logs of tasks as a batch writes them: a table a day of creation.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gatehouse_tasks::StepRow;
use redb::{ReadableTableMetadata, Table, WriteTransaction};

use crate::error::StoreError;
use crate::layout::{self, Day, Row};
use crate::row::encode;

/// The tables of the days a transaction writes to. Each is opened once, and made with its first row.
pub(crate) struct StepTables<'txn> {
    txn: &'txn WriteTransaction,
    days: BTreeMap<u32, Table<'txn, (u128, u64), Row>>,
}

impl<'txn> StepTables<'txn> {
    pub(crate) fn new(txn: &'txn WriteTransaction) -> Self {
        Self { txn, days: BTreeMap::new() }
    }

    /// Rows of that day.
    pub(crate) fn rows(&mut self, day: u32) -> Result<u64, StoreError> {
        Ok(self.day(day)?.len()?)
    }

    /// Keeps a row, instead of one at its position.
    pub(crate) fn put(&mut self, row: &StepRow) -> Result<(), StoreError> {
        let bytes = encode("steps", row)?;
        let position = (row.task.bits(), StepRow::position(row.revision));
        self.day(row.task.timestamp().day())?.insert(position, bytes.as_slice())?;
        Ok(())
    }

    /// Drops the tables of all days before `day`.
    pub(crate) fn drop_before(&mut self, day: u32) -> Result<(), StoreError> {
        // An open table cannot be dropped.
        self.days = self.days.split_off(&day);
        let days = self.txn.list_tables()?.filter_map(|table| layout::steps_day(&table));
        for old in days.filter(|old| *old < day).collect::<Vec<_>>() {
            self.txn.delete_table(Day::new(old).steps())?;
        }
        Ok(())
    }

    fn day(&mut self, day: u32) -> Result<&mut Table<'txn, (u128, u64), Row>, StoreError> {
        Ok(match self.days.entry(day) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(closed) => closed.insert(self.txn.open_table(Day::new(day).steps())?),
        })
    }
}
