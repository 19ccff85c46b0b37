//! The logs of tasks: a table a day of creation, written by a batch, and read for operators.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gatehouse_model::TaskId;
use gatehouse_tasks::StepRow;
use redb::{ReadableTableMetadata, Table, TableError, WriteTransaction};

use crate::error::StoreError;
use crate::layout::{self, Day, Row};
use crate::row::{decode, encode};
use crate::store::Store;

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

impl Store {
    /// The log of a task, oldest first: at most [`gatehouse_tasks::MAX_STEP_ROWS`] rows. Empty for a task that is unknown.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn steps(&self, task: TaskId) -> Result<Vec<StepRow>, StoreError> {
        let store = self.clone();
        self.off_worker(move || store.steps_now(task)).await
    }

    fn steps_now(&self, task: TaskId) -> Result<Vec<StepRow>, StoreError> {
        self.read(|txn| {
            let table = match txn.open_table(Day::new(task.timestamp().day()).steps()) {
                Ok(table) => table,
                Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            };
            let id = task.bits();
            let rows = table.range((id, 0)..=(id, u64::MAX))?;
            let rows = rows.map(|row| decode::<StepRow>("steps", row?.1.value()));
            let mut rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
            rows.sort_by_key(|row| row.revision);
            Ok(rows)
        })
    }
}
