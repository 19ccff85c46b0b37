//! A task as it changes: its present state, then each later one that can be read, to its end.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use gatehouse_model::{Key, Task, TaskId};
use gatehouse_store::{StoreError, TaskListener};

use crate::read::tasks::Tasks;
use crate::shared::Shared;
use crate::store_pause::StorePause;

/// A task that somebody follows.
pub struct FollowedTask {
    /// Its present state.
    pub now: Task,
    /// Its later states, the last one final. A reader that is slow gets the latest, and none of those between.
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
        let pause = StorePause::default();
        self.listener.changed().await;
        loop {
            match self.shared.store.task(self.id).await {
                // A request that joins changes the row, and nothing that a client reads.
                Ok(Some(task)) if task.revision == self.seen => self.listener.changed().await,
                Ok(Some(task)) => {
                    self.seen = task.revision;
                    let rest = (!task.status.is_final()).then_some(self);
                    return Some((Ok(task), rest));
                }
                Ok(None) => return None,
                Err(error) if error.passes() => {
                    self.shared.clock.pause(pause.failed(self.shared.now(), self.shared.seed.unit())).await;
                }
                Err(error) => return Some((Err(error), None)),
            }
        }
    }
}
