//! Compares the index of tasks with the tasks, for the doctor. How the index follows the tasks is `engine`'s; which rows a page shows
//! is decided elsewhere.

use std::collections::BTreeMap;

use gatehouse_model::{Task, TaskId};
use gatehouse_tasks::Examination;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata};

use crate::engine::tasks::{ALL, index_rows};
use crate::error::StoreError;
use crate::layout::{self, Day, IndexKey};
use crate::tables::task_in;

/// Compares the index with the tasks: every task has its row, and there is no other row.
pub(crate) struct IndexCheck<'txn> {
    txn: &'txn ReadTransaction,
    /// The tables, and how many rows of each belong to a task seen so far.
    days: BTreeMap<u32, (ReadOnlyTable<IndexKey, ()>, u64)>,
}

impl<'txn> IndexCheck<'txn> {
    pub(crate) fn new(txn: &'txn ReadTransaction) -> Result<Self, StoreError> {
        let mut days = BTreeMap::new();
        for day in txn.list_tables()?.filter_map(|table| layout::task_index_day(&table)) {
            days.insert(day, (txn.open_table(Day::new(day).task_index())?, 0));
        }
        Ok(Self { txn, days })
    }

    /// The next task.
    pub(crate) fn task(&mut self, task: &Task, examination: &mut Examination) -> Result<(), StoreError> {
        let rows = index_rows(task).into_iter().flatten();
        let (mut listed, mut expected) = (0, 0);
        if let Some((table, found)) = self.days.get_mut(&task.id.timestamp().day()) {
            for row in rows {
                expected += 1;
                listed += u64::from(table.get(row)?.is_some());
            }
            *found += listed;
        }
        if listed == 0 || listed < expected {
            examination.look_up(format!("task {}: the index does not list it as it is", task.id));
        }
        Ok(())
    }

    /// Once every task was seen: rows that belong to none.
    pub(crate) fn rest(self, examination: &mut Examination) -> Result<(), StoreError> {
        for (table, found) in self.days.into_values() {
            if table.len()? == found {
                continue;
            }
            for row in table.iter()? {
                let row = row?.0;
                let (customer, status, model, id) = row.value();
                let id = TaskId::from_bits(id);
                let task = task_in(self.txn, id)?;
                if task.is_some_and(|task| index_rows(&task).contains(&Some(row.value()))) {
                    continue;
                }
                examination.look_up(if customer == ALL {
                    format!("task {id}: the index lists it by {status} {model:?}, but there is no such task")
                } else {
                    format!(
                        "task {id}: the index lists it as {status}, of {model:?} and customer {customer}, but there is no such task"
                    )
                });
            }
        }
        Ok(())
    }
}
