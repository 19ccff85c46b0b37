//! Callers' tasks, their results and what they wait for; and a task as it changes: its present state, then each later one that
//! can be read, to its end.
//!
//! Every look-up is by (owner, id). Reads use the store's own snapshots and never wait for the writer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use gatehouse_model::{Key, Task, TaskId};
use gatehouse_store::{StoreError, TaskListener, TaskPage, TaskQuery};
use gatehouse_upstream::QueueEstimate;

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

    /// A page of the caller's tasks, newest first; their model by any of its names.
    pub async fn tasks(&self, key: &Key, filter: &TaskQuery) -> Result<TaskPage, StoreError> {
        let own_id = |name: &str| {
            let listed = self.shared.plugins.registry().models().into_iter().find(|entry| entry.id == name);
            listed.map_or_else(|| name.to_owned(), |entry| entry.model)
        };
        let query = TaskQuery { model: filter.model.as_deref().map(own_id), ..filter.clone() };
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
}

/// A task that somebody follows.
pub struct FollowedTask {
    /// Its present state.
    pub now: Task,
    /// Its later states, the last one final. A reader that is slow gets the latest, without those between.
    pub later: BoxStream<'static, Result<Task, StoreError>>,
}

impl Tasks {
    /// One of the caller's tasks as it changes. `None` for a task of another customer as for one that never existed.
    pub async fn follow(&self, key: &Key, id: TaskId) -> Result<Option<FollowedTask>, StoreError> {
        // Registered before the read, so that no change in between is missed.
        let listener = self.shared.store.listen(id);
        let Some(now) = self.task(key, id).await? else { return Ok(None) };
        if now.status.is_final() {
            return Ok(Some(FollowedTask { now, later: stream::empty().boxed() }));
        }
        let follower = Follower { shared: Arc::clone(&self.shared), listener, id, seen: now.revision };
        let later = stream::unfold(Some(follower), |follower| async move { follower?.next().await }).boxed();
        Ok(Some(FollowedTask { now, later }))
    }
}

/// One reader of one task.
struct Follower {
    shared: Arc<Shared>,
    listener: TaskListener,
    id: TaskId,
    /// The revision it has.
    seen: u64,
}

impl Follower {
    /// The next state, and who reads on.
    async fn next(mut self) -> Option<(Result<Task, StoreError>, Option<Self>)> {
        self.listener.changed().await;
        loop {
            match self.shared.when_there(|| self.shared.store.task(self.id)).await {
                // A request that joins changes the row, and nothing that a client reads.
                Ok(Some(task)) if task.revision == self.seen => self.listener.changed().await,
                Ok(Some(task)) => {
                    self.seen = task.revision;
                    let rest = (!task.status.is_final()).then_some(self);
                    return Some((Ok(task), rest));
                }
                Ok(None) => return None,
                Err(error) => return Some((Err(error), None)),
            }
        }
    }
}
