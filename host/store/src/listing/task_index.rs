//! The index of tasks: a row of each task, live or ended, by customer, status, model and id, in one table a day of creation;
//! in the same table its rows for all customers, by status, by key and by family, and those of tasks that wait for an
//! operator's ruling.
//!
//! Owns how the index follows the tasks: a row is written, moved or dropped in the batch that does the same to its
//! task, so that neither is ever there without the other. Builds it anew for a store that has none, and tells where it
//! contradicts the tasks. Never decides which rows a page shows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gatehouse_model::{CustomerId, KeyId, Status, Task, TaskId};
use gatehouse_tasks::Examination;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, Table, WriteTransaction};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::error::StoreError;
use crate::layout::{self, Day, IndexKey};
use crate::tables::task_in;

/// What the index holds of a task, as read from the task's own row.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct IndexedTask {
    #[serde(rename = "account")]
    customer: CustomerId,
    key: KeyId,
    family: String,
    status: Status,
    model: String,
    #[serde(rename = "phase", deserialize_with = "is_ambiguous")]
    ambiguous: bool,
}

/// Whether a phase is [`gatehouse_model::Phase::Ambiguous`]. What is in it is passed over.
fn is_ambiguous<'de, D: Deserializer<'de>>(phase: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    enum Name {
        Run(IgnoredAny),
        Call(IgnoredAny),
        Sent(IgnoredAny),
        Ambiguous(IgnoredAny),
        Probe(IgnoredAny),
        Wait(IgnoredAny),
        Publish(IgnoredAny),
        Save(IgnoredAny),
        SaveFailed(IgnoredAny),
        Over,
    }
    Ok(matches!(Name::deserialize(phase)?, Name::Ambiguous(_)))
}

type RowKey<'a> = (&'a str, &'a str, &'a str, u128);

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

impl IndexedTask {
    pub(crate) fn of(task: &Task) -> Self {
        Self {
            customer: task.customer.clone(),
            key: task.key.clone(),
            family: task.family.clone(),
            status: task.status,
            model: task.model.clone(),
            ambiguous: task.phase.ambiguous_call().is_some(),
        }
    }

    fn rows(&self, id: TaskId) -> RowKeys<'_> {
        let Self { customer, key, family, status, model, ambiguous } = self;
        rows(id, [&customer.0, &key.0, family, model], *status, *ambiguous)
    }
}

fn rows_of(task: &Task) -> RowKeys<'_> {
    let Task { id, customer, key, family, status, model, phase, .. } = task;
    rows(*id, [&customer.0, &key.0, family, model], *status, phase.ambiguous_call().is_some())
}

/// Rows that move when the status changes, then the others; the last one only while an operator is asked.
fn rows<'a>(
    id: TaskId,
    [customer, key, family, model]: [&'a str; 4],
    status: Status,
    ambiguous: bool,
) -> RowKeys<'a> {
    let (status, id) = (status.as_str(), id.bits());
    [
        Some((customer, status, model, id)),
        Some((ALL, BY_STATUS, status, id)),
        Some((ALL, BY_KEY, key, id)),
        Some((ALL, BY_FAMILY, family, id)),
        ambiguous.then_some((ALL, AMBIGUOUS, "", id)),
    ]
}

/// Rows of one task, at most.
const ROWS: usize = 5;

type RowKeys<'a> = [Option<RowKey<'a>>; ROWS];

/// The tables of the days a transaction writes to. Each is opened once.
pub(crate) struct TaskIndex<'txn> {
    txn: &'txn WriteTransaction,
    days: BTreeMap<u32, Table<'txn, IndexKey, ()>>,
}

impl<'txn> TaskIndex<'txn> {
    pub(crate) fn new(txn: &'txn WriteTransaction) -> Self {
        Self { txn, days: BTreeMap::new() }
    }

    /// Lists a task as it is now instead of as it was `before`.
    pub(crate) fn put(&mut self, task: &Task, before: Option<IndexedTask>) -> Result<(), StoreError> {
        let (now, old) = (rows_of(task), before.as_ref().map(|before| before.rows(task.id)));
        if old == Some(now) {
            return Ok(());
        }
        let table = self.day(task.id)?;
        for (at, row) in now.into_iter().enumerate() {
            let old = old.and_then(|old| old[at]);
            if old == row {
                continue;
            }
            if let Some(old) = old {
                table.remove(old)?;
            }
            if let Some(row) = row {
                table.insert(row, ())?;
            }
        }
        Ok(())
    }

    /// Drops the tables of all days before `day`.
    pub(crate) fn drop_before(&mut self, day: u32) -> Result<(), StoreError> {
        // An open table cannot be dropped.
        self.days = self.days.split_off(&day);
        let days: Vec<u32> =
            self.txn.list_tables()?.filter_map(|table| layout::task_index_day(&table)).collect();
        for old in days.into_iter().filter(|old| *old < day) {
            self.txn.delete_table(Day::new(old).task_index())?;
        }
        Ok(())
    }

    fn day(&mut self, id: TaskId) -> Result<&mut Table<'txn, IndexKey, ()>, StoreError> {
        let day = id.timestamp().day();
        Ok(match self.days.entry(day) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(closed) => closed.insert(self.txn.open_table(Day::new(day).task_index())?),
        })
    }
}

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
        let rows = rows_of(task).into_iter().flatten();
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
                if task.is_some_and(|task| rows_of(&task).contains(&Some(row.value()))) {
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
