//! Tasks of all customers for operators: listed, inspected with their money, their results and their steps, cancelled with a
//! reason.

use gatehouse_driver::{CancelError, Cancelled, MediaFile, MediaRefusal};
use gatehouse_model::{Task, TaskId, UnixMs};
use gatehouse_store::{AllTasksPage, AllTasksQuery, StatementOf, StatementQuery};
use gatehouse_tasks::{
    FieldChange, HoldId, JournalEntry, MAX_WEBHOOKS, StepRow, WebhookDelivery, delivery_of,
};

use crate::api::error::OperationError;
use crate::service::admin_service::{AdminService, Backend, store_failed};

/// Commands are applied in another order than their moments by this much at most, unless the writer waits for its disk.
const AROUND_MS: u64 = 1_000;
/// Ledger rows of its customer around one moment that are looked through for those of a task.
const LOOKED_THROUGH: usize = 5_000;
/// The longest reason, in bytes.
const MAX_REASON: usize = 500;

/// A task and the ledger rows that hold and resolve its money. What requests that joined it added later is in the task's
/// `held`, not among the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDetails {
    /// The record.
    pub task: Task,
    /// Oldest first.
    pub entries: Vec<JournalEntry>,
    /// What its customer's webhooks were told of its end, by webhook. Those of a webhook that was removed are not among them.
    pub deliveries: Vec<WebhookDelivery>,
}

impl AdminService {
    /// A page of all customers' tasks, newest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn tasks(&self, query: AllTasksQuery) -> Result<AllTasksPage, OperationError> {
        self.store.list_all_tasks(query).await.map_err(store_failed)
    }

    /// One task.
    ///
    /// # Errors
    /// [`OperationError::NotFound`].
    pub async fn task(&self, id: TaskId) -> Result<TaskDetails, OperationError> {
        let found = self.store.task(id).map_err(store_failed)?;
        let task = found.ok_or_else(|| unknown(id))?;
        let mut entries = Vec::new();
        for at in [Some(task.created), task.finished].into_iter().flatten() {
            let of = StatementOf::Customer(task.customer.clone());
            let created = UnixMs(at.0.saturating_sub(AROUND_MS))..UnixMs(at.0.saturating_add(AROUND_MS));
            let query = StatementQuery { of, created, before: None, limit: LOOKED_THROUGH };
            let rows = self.store.statement(query).await.map_err(store_failed)?.rows;
            entries.extend(rows.into_iter().map(|row| row.entry));
        }
        entries.retain(|entry: &JournalEntry| entry.hold == Some(HoldId::Task(id)));
        entries.sort_by_key(|entry| entry.seq);
        entries.dedup_by_key(|entry| entry.seq);
        let deliveries = self.deliveries_of(&task).await?;
        Ok(TaskDetails { task, entries, deliveries })
    }

    /// An event's id follows from webhook and task, so each is one look-up.
    async fn deliveries_of(&self, task: &Task) -> Result<Vec<WebhookDelivery>, OperationError> {
        let mut deliveries = Vec::new();
        if task.finished.is_none() {
            return Ok(deliveries);
        }
        let webhooks = self.webhooks_page(Some(task.customer.clone()), None, MAX_WEBHOOKS).await?.rows;
        for webhook in webhooks {
            if let Some(id) = delivery_of(webhook.id, task) {
                deliveries.extend(self.store.delivery(id).map_err(store_failed)?);
            }
        }
        Ok(deliveries)
    }

    /// The bytes of a task's copied result, the first one being 0; `range` is a `Range` header.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] without such a task or result; the inner ones are the media store's.
    pub async fn task_media(
        &self,
        id: TaskId,
        at: usize,
        range: Option<&str>,
    ) -> Result<Result<MediaFile, MediaRefusal>, OperationError> {
        let Backend::Running { driver, .. } = &self.backend else {
            return Err(OperationError::Refused("results are shown by a running gateway only".to_owned()));
        };
        let found = self.store.task(id).map_err(store_failed)?;
        let media = found.as_ref().and_then(|task| task.media.get(at));
        let media = media.ok_or_else(|| OperationError::NotFound(format!("task {id} has no result {at}")))?;
        Ok(driver.result_file(media, range).await)
    }

    /// Ends a task early, where that is still possible: as its client could, with a reason for the audit record. With
    /// `give_up` whatever its provider does with it. A task that has not ended then has a provider that is asked to stop it.
    ///
    /// # Errors
    /// [`OperationError::Refused`] while its provider works on it and it is not given up, and once it has ended.
    pub async fn cancel_task(&self, id: TaskId, reason: &str, give_up: bool) -> Result<Task, OperationError> {
        if reason.trim().is_empty() || reason.len() > MAX_REASON {
            return Err(OperationError::Invalid(format!("reason: expected 1 to {MAX_REASON} bytes of text")));
        }
        let Backend::Running { driver, .. } = &self.backend else {
            return Err(OperationError::Refused("tasks are cancelled by a running gateway only".to_owned()));
        };
        let (driver, reason) = (driver.clone(), reason.to_owned());
        // It runs to its end, even if its client disconnects.
        let ended = tokio::spawn(async move {
            if give_up {
                driver.give_up(id, &reason).await
            } else {
                driver.cancel_for_operator(id, &reason).await
            }
        });
        let ended = ended.await.map_err(|error| OperationError::Failed(error.to_string()))?;
        let ended = ended.map(Cancelled::into_task).map_err(|error| match error {
            CancelError::NotFound => unknown(id),
            CancelError::Store(error) => store_failed(error),
            CancelError::Running => OperationError::Refused(format!(
                "{}; give it up to end it all the same",
                CancelError::Running
            )),
            other => OperationError::Refused(other.to_string()),
        });
        let told = if give_up {
            vec![FieldChange { field: "give_up".to_owned(), before: None, after: Some("true".to_owned()) }]
        } else {
            Vec::new()
        };
        self.leave_outcome(("cancelTask", format!("tasks/{id}")), ended.as_ref().err(), told).await;
        ended
    }

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
            return Err(unknown(task));
        }
        self.store.steps(task).await.map_err(store_failed)
    }
}

fn unknown(id: TaskId) -> OperationError {
    OperationError::NotFound(format!("no task {id}"))
}
