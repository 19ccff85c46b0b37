//! The rule of the log: its row is written with the change that the steps led to, or not at all.

use gatehouse_model::UnixMs;

use crate::commands::command::Applied;
use crate::commands::ruling::Ruling;
use crate::records::step::{MAX_STEP_ROWS_OF_A_DAY, StepRecord, StepRow};
use crate::storage::ledger_storage::LedgerStorage;

/// Keeps the steps that led to a change of a task, which was applied already.
pub(crate) fn keep<B: LedgerStorage>(
    storage: &mut B,
    applied: Applied,
    steps: Vec<StepRecord>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if let (Applied::Task(task), false) = (&applied, steps.is_empty())
        && storage.step_rows(task.id.timestamp().day())? < MAX_STEP_ROWS_OF_A_DAY
    {
        storage.put_steps(&StepRow::bounded(task.id, task.revision, at, steps))?;
    }
    Ok(applied)
}
