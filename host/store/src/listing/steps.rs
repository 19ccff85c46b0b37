//! Reads of a task's log.

use gatehouse_model::TaskId;
use gatehouse_tasks::StepRow;
use redb::TableError;

use crate::error::StoreError;
use crate::layout::Day;
use crate::read::LongRead;
use crate::row::decode;
use crate::store::Store;

impl Store {
    /// The log of a task, oldest first: at most [`gatehouse_tasks::MAX_STEP_ROWS`] rows. Empty for a task that is unknown.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn steps(&self, task: TaskId) -> LongRead<'_, Vec<StepRow>> {
        self.long_read(move |txn| {
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
