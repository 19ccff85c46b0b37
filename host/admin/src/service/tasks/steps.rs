//! The log of a task's steps, for operators.

use gatehouse_model::TaskId;
use gatehouse_tasks::StepRow;

use crate::api::error::OperationError;
use crate::service::admin_service::{AdminService, store_failed};

impl AdminService {
    /// Writes the line of a read of the log into the audit record, because it shows a client's words.
    ///
    /// # Errors
    /// The store's: without the line nothing may be shown.
    pub async fn note_steps_read(&self, task: TaskId) -> Result<(), OperationError> {
        self.try_leave_line(("listTaskSteps", format!("tasks/{task}/steps")), (200, ""), Vec::new()).await
    }

    /// What a task did, oldest first: a row for each of its commits, at most
    /// [`MAX_STEP_ROWS`](gatehouse_tasks::MAX_STEP_ROWS).
    ///
    /// # Errors
    /// [`OperationError::NotFound`], or the store's.
    pub async fn steps(&self, task: TaskId) -> Result<Vec<StepRow>, OperationError> {
        if self.store.task(task).map_err(store_failed)?.is_none() {
            return Err(OperationError::NotFound(format!("no task {task}")));
        }
        self.store.steps(task).await.map_err(store_failed)
    }
}
