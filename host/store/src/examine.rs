//! The examination of the whole file, behind `gatehouse doctor`.
//!
//! Feeds every row of one snapshot to the rules of `tasks`, and compares the index of tasks with the tasks. Never
//! repairs.

use gatehouse_model::{Customer, Key, Task};
use gatehouse_tasks::{Examination, Hold, JournalEntry, Report};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{self, Day};
use crate::listing::task_index::IndexCheck;
use crate::store::Store;
use crate::tables::each;

impl Store {
    /// Re-sums the whole ledger, checks every hold against its task, and the index against all tasks, in one
    /// snapshot.
    ///
    /// # Errors
    /// [`StoreError`]; what merely contradicts itself is in the report.
    pub fn examine(&self) -> Result<Report, StoreError> {
        self.read(examine)
    }
}

fn examine(txn: &ReadTransaction) -> Result<Report, StoreError> {
    let mut examination = Examination::default();
    each(txn, layout::LEDGER, |entry: JournalEntry| {
        examination.entry(&entry);
        Ok(())
    })?;
    each(txn, layout::CUSTOMERS, |customer: Customer| {
        examination.customer(&customer);
        Ok(())
    })?;
    each(txn, layout::KEYS, |key: Key| {
        examination.key(&key);
        Ok(())
    })?;
    each(txn, layout::HOLDS, |hold: Hold| {
        examination.hold(&hold);
        Ok(())
    })?;
    let mut index = IndexCheck::new(txn)?;
    each(txn, layout::LIVE, |task: Task| {
        examination.live(&task);
        index.task(&task, &mut examination)
    })?;
    let days: Vec<u32> = txn.list_tables()?.filter_map(|table| layout::history_day(&table)).collect();
    for day in days {
        each(txn, Day::new(day).history(), |task: Task| {
            examination.finished(&task);
            index.task(&task, &mut examination)
        })?;
    }
    index.rest(&mut examination)?;
    Ok(examination.report())
}
