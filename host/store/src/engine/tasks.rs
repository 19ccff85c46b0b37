//! Tasks, live in one table and ended in that of the day of their creation; their logs; and their index: a row of each task by
//! customer, status, model and id, in one table a day of creation, and in the same table its rows for all customers, by status, by
//! key and by family, and those of tasks that wait for an operator's ruling.

use gatehouse_model::Task;
use gatehouse_tasks::{RowChange, RowKey};
use redb::WriteTransaction;

use crate::engine::write::sides;
use crate::error::StoreError;
use crate::layout::{HISTORY, LIVE, STEPS, TASK_INDEX};

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

/// Changes of tasks of one day; those of a commit are in the order of ids, which begin with the moment.
fn by_day(group: &[RowChange]) -> impl Iterator<Item = (u32, &[RowChange])> {
    let day = |change: &RowChange| match change.key {
        RowKey::Task(id) | RowKey::Steps(id, _) => id.timestamp().day(),
        _ => 0,
    };
    group.chunk_by(move |one, other| day(one) == day(other)).map(move |changes| (day(&changes[0]), changes))
}

pub(super) fn write(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let mut live = LIVE.open_to_write(txn)?;
    for (day, changes) in by_day(group) {
        // A table that is opened is made, so a day without ended tasks has no history.
        let (mut history, mut index) = (None, None);
        for change in changes {
            let RowKey::Task(id) = change.key else { continue };
            let (before, after) = sides::<Task>(change);
            let is_live = |task: &&Task| !task.status.is_final();
            if before.iter().chain(&after).any(is_live) {
                live.put(id.bits(), change.after.as_ref().filter(|_| after.filter(is_live).is_some()))?;
            }
            if after.is_some_and(|task| task.status.is_final()) {
                let history = match &mut history {
                    Some(open) => open,
                    none => none.insert(HISTORY.of(day).open_to_write(txn)?),
                };
                history.put(id.bits(), change.after.as_ref())?;
            }
            let (before, after) = (before.map(index_rows), after.map(index_rows));
            if before != after {
                let index = match &mut index {
                    Some(open) => open,
                    none => none.insert(TASK_INDEX.of(day).open_to_write(txn)?),
                };
                let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                before.into_iter().zip(after).try_for_each(|(before, after)| index.list(before, after))?;
            }
        }
    }
    Ok(())
}

pub(super) fn write_steps(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    for (day, changes) in by_day(group) {
        let mut rows = STEPS.of(day).open_to_write(txn)?;
        for change in changes {
            let RowKey::Steps(task, place) = change.key else { continue };
            rows.put((task.bits(), place), change.after.as_ref())?;
        }
    }
    Ok(())
}
