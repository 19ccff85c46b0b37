//! Reads of a task's log.

use gatehouse_model::TaskId;
use gatehouse_tasks::StepRow;
use redb::{ReadTransaction, TableError};

use crate::error::StoreError;
use crate::layout::Day;
use crate::row::decode;

/// The log of a task, oldest first.
pub(crate) fn steps(txn: &ReadTransaction, task: TaskId) -> Result<Vec<StepRow>, StoreError> {
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
}
