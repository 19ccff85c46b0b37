//! Callers' tasks, their results and what they wait for.
//!
//! Every look-up is by (owner, id). Reads use the store's own snapshots and never wait for the writer.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Key, Task, TaskId};
use gatehouse_store::{StoreError, TaskPage, TaskQuery};
use gatehouse_upstream::QueueEstimate;

use crate::api::TaskFilter;
use crate::live::live_tasks::LiveTasks;
use crate::read::result::{self, Waiting};
use crate::shared::{Shared, ShutdownState};

/// Reads tasks.
pub struct Tasks {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
}

impl Tasks {
    /// One of the caller's tasks. Another customer's task is as unknown as one that never existed.
    pub async fn task(&self, key: &Key, id: TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self.shared.store.task(id).await?.filter(|task| task.customer == key.customer))
    }

    /// The same, once it has ended or `max_wait` is over.
    pub async fn task_when_over(
        &self,
        key: &Key,
        id: TaskId,
        max_wait: Duration,
    ) -> Result<Option<Task>, StoreError> {
        // Registered before the read, so that an end in between is not missed.
        let end = self.live.wait_for_end(id);
        let task = self.task(key, id).await?;
        let Some(end) = end.filter(|_| task.as_ref().is_some_and(|task| !task.status.is_final())) else {
            return Ok(task);
        };
        let mut shutdown = self.shared.shutdown.subscribe();
        tokio::select! {
            biased;
            _ = end => {}
            () = self.shared.clock.pause(max_wait) => {}
            // A shutdown does not wait for a client that only waits.
            _ = shutdown.wait_for(|shutdown| *shutdown >= ShutdownState::LameDuck) => {}
        }
        self.task(key, id).await
    }

    /// When a task that waits for a provider's permit can expect it; `None` where it waits for none, or that is not known.
    #[must_use]
    pub fn queue_estimate(&self, task: &Task) -> Option<QueueEstimate> {
        if task.status.is_final() { None } else { self.live.queue_estimate(task.id) }
    }

    /// A page of the caller's tasks, newest first.
    pub async fn tasks(&self, key: &Key, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        let query = TaskQuery {
            status: filter.status,
            model: filter.model.as_deref().map(|model| self.canonical(model)),
            after: filter.after,
            limit: filter.limit,
        };
        self.shared.store.list_tasks(key.customer.clone(), query).await
    }

    /// The client's `result` of a task as JSON, interim or final; `None` before it has one. Links begin with `base` (no trailing slash).
    #[must_use]
    pub fn result(&self, task: &Task, base: &str) -> Option<Vec<u8>> {
        result::render(task, |media| self.shared.media.link(base, media))
    }

    /// What a living task waits for from its client.
    #[must_use]
    pub fn waiting(&self, task: &Task) -> Option<Waiting> {
        result::waiting(task)
    }

    fn canonical(&self, model: &str) -> String {
        let listed = self.shared.plugins.registry().models().into_iter().find(|entry| entry.id == model);
        listed.map_or_else(|| model.to_owned(), |entry| entry.model)
    }
}
