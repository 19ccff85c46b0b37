//! Compares the index of tasks with the tasks, for the doctor. How the index follows the tasks is `engine`'s; which rows a page shows
//! is decided elsewhere.

use std::collections::BTreeMap;

use gatehouse_model::{Task, TaskId};
use gatehouse_tasks::Examination;
use redb::ReadTransaction;

use crate::engine::tasks::{ALL, index_rows};
use crate::error::StoreError;
use crate::layout::{IndexKey, TASK_INDEX};
use crate::read::task;
use crate::table::ReadRows;

/// Compares the index with the tasks: every task has its row, and there is no other row.
pub(crate) struct IndexCheck<'txn> {
    txn: &'txn ReadTransaction,
    /// The tables, and how many rows of each belong to a task seen so far.
    days: BTreeMap<u32, (ReadRows<IndexKey, ()>, u64)>,
}

impl<'txn> IndexCheck<'txn> {
    pub(crate) fn new(txn: &'txn ReadTransaction) -> Result<Self, StoreError> {
        let mut days = BTreeMap::new();
        for day in TASK_INDEX.days(txn.list_tables()?) {
            days.insert(day, (TASK_INDEX.of(day).open(txn)?, 0));
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
                listed += u64::from(table.has(row)?);
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
            for row in table.range(..)? {
                let (customer, status, model, bits) = row?.key()?;
                let (id, key) = (TaskId::from_bits(bits), (&*customer, &*status, &*model, bits));
                if task(self.txn, id)?.is_some_and(|task| index_rows(&task).contains(&Some(key))) {
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
