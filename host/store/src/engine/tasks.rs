//! Tasks, live in one table and ended in that of the day of their creation; their logs; and their index: a row of each task by
//! customer, status, model and id, in one table a day of creation, and in the same table its rows for all customers, by status, by
//! key and by family, and those of tasks that wait for an operator's ruling.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gatehouse_model::{Task, TaskId};
use gatehouse_tasks::{RowChange, RowKey};
use redb::{Table, Value, WriteTransaction};

use crate::engine::write::{list, put, sides};
use crate::error::StoreError;
use crate::layout::{self, Day};

/// A row of the index.
pub(crate) type RowKeyOf<'a> = (&'a str, &'a str, &'a str, u128);

/// Stands for all customers; no customer is called so.
pub(crate) const ALL: &str = "";
/// Lists of all customers' tasks.
pub(crate) const BY_STATUS: &str = "status";
/// The same by key.
pub(crate) const BY_KEY: &str = "key";
/// The same by family.
pub(crate) const BY_FAMILY: &str = "family";
/// Tasks that wait for a ruling; their value is empty.
pub(crate) const AMBIGUOUS: &str = "ambiguous";

/// The rows of a task in the index: two that move when the status changes, then the others; the last one only while an operator is
/// asked.
pub(crate) fn index_rows(task: &Task) -> [Option<RowKeyOf<'_>>; 5] {
    let (status, id) = (task.status.as_str(), task.id.bits());
    [
        Some((&task.customer.0, status, &task.model, id)),
        Some((ALL, BY_STATUS, status, id)),
        Some((ALL, BY_KEY, &task.key.0, id)),
        Some((ALL, BY_FAMILY, &task.family, id)),
        task.phase.ambiguous_call().is_some().then_some((ALL, AMBIGUOUS, "", id)),
    ]
}

/// The tables of days that one commit writes to. Each is opened once.
struct Days<'txn, K: redb::Key + 'static, V: Value + 'static>(BTreeMap<u32, Table<'txn, K, V>>);

impl<'txn, K: redb::Key, V: Value> Days<'txn, K, V> {
    fn open(
        &mut self,
        id: TaskId,
        open: impl FnOnce(&Day) -> Result<Table<'txn, K, V>, redb::TableError>,
    ) -> Result<&mut Table<'txn, K, V>, StoreError> {
        Ok(match self.0.entry(id.timestamp().day()) {
            Entry::Occupied(table) => table.into_mut(),
            Entry::Vacant(none) => {
                let table = open(&Day::new(*none.key()))?;
                none.insert(table)
            }
        })
    }
}

pub(super) fn write(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut live = txn.open_table(layout::LIVE)?;
    let (mut histories, mut indexes) = (Days(BTreeMap::new()), Days(BTreeMap::new()));
    for change in group {
        let RowKey::Task(id) = change.key else { continue };
        let (before, after) = sides::<Task>(change);
        let is_live = |task: &&Task| !task.status.is_final();
        if before.iter().chain(&after).any(is_live) {
            put(&mut live, id.bits(), change.after.as_ref().filter(|_| after.filter(is_live).is_some()))?;
        }
        if after.is_some_and(|task| task.status.is_final()) {
            let history = histories.open(id, |day| txn.open_table(day.history()))?;
            put(history, id.bits(), change.after.as_ref())?;
        }
        let (before, after) = (before.map(index_rows), after.map(index_rows));
        if before != after {
            let index = indexes.open(id, |day| txn.open_table(day.task_index()))?;
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            before.into_iter().zip(after).try_for_each(|(before, after)| list(index, before, after))?;
        }
    }
    Ok(())
}

pub(super) fn write_steps(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut days = Days(BTreeMap::new());
    for change in group {
        if let RowKey::Steps(task, place) = change.key {
            let rows = days.open(task, |day| txn.open_table(day.steps()))?;
            put(rows, (task.bits(), place), change.after.as_ref())?;
        }
    }
    Ok(())
}
