//! Tasks of all customers for operators: listed, inspected with their money, their results and their steps, cancelled with a
//! reason. Owns nothing; reads the store, and asks the running gateway.

use std::sync::Arc;

use gatehouse_driver::{CancelError, Cancelled, MediaFile, MediaRefusal};
use gatehouse_model::{Task, TaskId, UnixMs};
use gatehouse_store::{StatementOf, StatementQuery, Store};
use gatehouse_tasks::{HoldId, JournalEntry, MAX_WEBHOOKS, StepRow, WebhookDelivery, delivery_of};

use crate::api::error::OperationError;
use crate::service::gateway::Gateway;

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

/// Shows tasks, and ends them early.
pub struct Tasks {
    pub(in crate::service) store: Store,
    pub(in crate::service) gateway: Arc<Gateway>,
}

impl Tasks {
    /// The task as it is now.
    pub(crate) async fn row(&self, id: TaskId) -> Result<Task, OperationError> {
        self.store.task(id).await?.ok_or_else(|| unknown(id))
    }

    /// One task with its money and what was told of it.
    ///
    /// # Errors
    /// [`OperationError::NotFound`].
    pub async fn details(&self, id: TaskId) -> Result<TaskDetails, OperationError> {
        let task = self.row(id).await?;
        let mut entries = Vec::new();
        for at in [Some(task.created), task.finished].into_iter().flatten() {
            let of = StatementOf::Customer(task.customer.clone());
            let created = UnixMs(at.0.saturating_sub(AROUND_MS))..UnixMs(at.0.saturating_add(AROUND_MS));
            let query = StatementQuery { of, created, before: None, limit: LOOKED_THROUGH };
            let rows = self.store.statement(query).await?.rows;
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
        let webhooks = self.store.list_webhooks(Some(task.customer.clone()), None, MAX_WEBHOOKS).await?.rows;
        for webhook in webhooks {
            if let Some(id) = delivery_of(webhook.id, task) {
                deliveries.extend(self.store.delivery(id).await?);
            }
        }
        Ok(deliveries)
    }

    /// The bytes of a task's copied result, the first one being 0; `range` is a `Range` header.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] without such a task or result; the inner ones are the media store's.
    pub async fn media(
        &self,
        id: TaskId,
        at: usize,
        range: Option<&str>,
    ) -> Result<Result<MediaFile, MediaRefusal>, OperationError> {
        let driver = self.gateway.running("results are shown by a running gateway only")?;
        let found = self.store.task(id).await?;
        let media = found.as_ref().and_then(|task| task.media.get(at));
        let media = media.ok_or_else(|| OperationError::NotFound(format!("task {id} has no result {at}")))?;
        Ok(driver.files.result_file(media, range).await)
    }

    /// Ends a task early, where that is still possible: as its client could, with a reason for the audit record. With
    /// `give_up` whatever its provider does with it. A task that has not ended then has a provider that is asked to stop it.
    ///
    /// # Errors
    /// [`OperationError::Refused`] while its provider works on it and it is not given up, and once it has ended.
    pub(crate) async fn cancel(
        &self,
        id: TaskId,
        reason: &str,
        give_up: bool,
    ) -> Result<Task, OperationError> {
        if reason.trim().is_empty() || reason.len() > MAX_REASON {
            return Err(OperationError::Invalid(format!("reason: expected 1 to {MAX_REASON} bytes of text")));
        }
        let driver = self.gateway.running("tasks are cancelled by a running gateway only")?;
        let ended = match give_up {
            true => driver.cancels.give_up(id, reason).await,
            false => driver.cancels.cancel_for_operator(id, reason).await,
        };
        ended.map(Cancelled::into_task).map_err(|error| match error {
            CancelError::NotFound => unknown(id),
            CancelError::Store(error) => error.into(),
            CancelError::Running => OperationError::Refused(format!(
                "{}; give it up to end it all the same",
                CancelError::Running
            )),
            other => OperationError::Refused(other.to_string()),
        })
    }

    /// What a task did, oldest first: a row for each of its commits, at most
    /// [`MAX_STEP_ROWS`](gatehouse_tasks::MAX_STEP_ROWS).
    ///
    /// # Errors
    /// [`OperationError::NotFound`], or the store's.
    pub async fn steps(&self, task: TaskId) -> Result<Vec<StepRow>, OperationError> {
        self.row(task).await?;
        Ok(self.store.steps(task).await?)
    }
}

fn unknown(id: TaskId) -> OperationError {
    OperationError::NotFound(format!("no task {id}"))
}
