//! Reads of a task's log.

use gatehouse_model::TaskId;
use gatehouse_tasks::StepRow;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::STEPS;

/// The log of a task, oldest first.
pub(crate) fn steps(txn: &ReadTransaction, task: TaskId) -> Result<Vec<StepRow>, StoreError> {
    let Some(table) = STEPS.of(task.timestamp().day()).open_if_any(txn)? else { return Ok(Vec::new()) };
    let id = task.bits();
    let rows = table.range((id, 0)..=(id, u64::MAX))?.map(|row| row?.row());
    let mut rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    rows.sort_by_key(|row| row.revision);
    Ok(rows)
}
