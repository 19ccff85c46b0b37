//! The log of a task's steps, for operators.

use gatehouse_model::{RequestId, TaskId};
use gatehouse_tasks::{AuditedRequest, Command, StepRow};

use crate::api::error::OperationError;
use crate::api::result::OperationResult;
use crate::http::access::caller::Role;
use crate::service::admin_service::{AdminService, rejected, store_failed};

impl AdminService {
    /// The operation of a command: the log, and the line of the read in the audit record, because it shows a client's words.
    pub(in crate::service) async fn read_steps(
        &self,
        task: TaskId,
    ) -> Result<OperationResult, OperationError> {
        let rows = self.steps(task).await?;
        self.note_steps_read(task, "command".to_owned(), String::new()).await?;
        Ok(OperationResult::Steps { rows })
    }

    /// Writes the line of a read of the log into the audit record, because it shows a client's words.
    ///
    /// # Errors
    /// The store's.
    pub async fn note_steps_read(
        &self,
        task: TaskId,
        who: String,
        address: String,
    ) -> Result<(), OperationError> {
        let at = self.clock.now();
        let audit = AuditedRequest {
            id: RequestId::new(at, self.seed.as_ref()),
            who,
            role: Role::Operator.to_string(),
            address,
            operation: "listTaskSteps".to_owned(),
            object: format!("tasks/{task}/steps"),
            status: 200,
            reason: String::new(),
            changes: Vec::new(),
        };
        let command = Command::Administer { change: None, audit: Box::new(audit), idempotency: None, at };
        self.administer(command).await?.map(drop).map_err(rejected)
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
