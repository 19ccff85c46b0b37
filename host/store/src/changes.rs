//! Wakes those that follow a task, and the sender of webhooks, once a change can be read.
//!
//! Holds no change. A listener that was slow reads the latest state, and so misses what came between, never the end. Of webhooks
//! it holds ids only, so it is bounded by their number, whether or not anyone looks.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_model::{TaskId, WebhookId};
use tokio::sync::{Notify, watch};

/// The listeners of this process.
#[derive(Default)]
pub(crate) struct TaskChanges {
    /// Those of webhooks.
    pub(crate) webhooks: WebhookChanges,
    by_task: Mutex<HashMap<TaskId, watch::Sender<()>>>,
}

/// Learns of commits that change one task. Listening ends when it is dropped.
pub struct TaskListener {
    task: TaskId,
    changes: Arc<TaskChanges>,
    /// There until it ends.
    changed: Option<watch::Receiver<()>>,
}

impl TaskChanges {
    /// Listens from now on.
    pub(crate) fn listen(self: &Arc<Self>, task: TaskId) -> TaskListener {
        let changed = self.lock().entry(task).or_insert_with(|| watch::channel(()).0).subscribe();
        TaskListener { task, changes: Arc::clone(self), changed: Some(changed) }
    }

    /// A commit with changes of these tasks can be read.
    pub(crate) fn committed(&self, tasks: &[TaskId]) {
        let by_task = self.lock();
        if by_task.is_empty() {
            return;
        }
        for sender in tasks.iter().filter_map(|task| by_task.get(task)) {
            sender.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, watch::Sender<()>>> {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskListener {
    /// Ends at the first commit since it began to listen, or since this ended last. Several are one.
    pub async fn changed(&mut self) {
        if let Some(changed) = &mut self.changed {
            // The sender is there as long as this listens.
            let _ = changed.changed().await;
        }
    }
}

impl Drop for TaskListener {
    fn drop(&mut self) {
        let mut by_task = self.changes.lock();
        // Under the lock: two that end at once would each still count the other.
        self.changed = None;
        if by_task.get(&self.task).is_some_and(|sender| sender.receiver_count() == 0) {
            by_task.remove(&self.task);
        }
    }
}

/// The webhooks whose rows have changed since their sender looked last.
#[derive(Default)]
pub(crate) struct WebhookChanges {
    changed: Mutex<BTreeSet<WebhookId>>,
    woken: Notify,
}

impl WebhookChanges {
    /// A commit with rows of these webhooks can be read.
    pub(crate) fn committed(&self, mut webhooks: BTreeSet<WebhookId>) {
        if webhooks.is_empty() {
            return;
        }
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).append(&mut webhooks);
        self.woken.notify_one();
    }

    /// Those since this was last asked. Ends once there are any.
    pub(crate) async fn next(&self) -> BTreeSet<WebhookId> {
        loop {
            let changed = mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if !changed.is_empty() {
                return changed;
            }
            self.woken.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_listener_learns_of_its_task_only_and_of_several_commits_at_once() {
        let changes = Arc::new(TaskChanges::default());
        let (one, other) = (TaskId::from_bits(1), TaskId::from_bits(2));
        let (mut first, mut second) = (changes.listen(one), changes.listen(one));
        changes.committed(&[other]);
        assert!(first.changed().now_or_never().is_none());
        changes.committed(&[other, one]);
        changes.committed(&[one]);
        first.changed().await;
        assert!(first.changed().now_or_never().is_none(), "both were one");
        drop(first);
        changes.committed(&[one]);
        second.changed().await;
        drop(second);
        assert!(changes.lock().is_empty(), "nothing is kept for a task that nobody follows");
    }

    /// Otherwise the sender of a task that nobody follows stays for good.
    #[test]
    fn listeners_that_end_at_once_leave_nothing() {
        const THREADS: usize = 8;
        let changes = Arc::new(TaskChanges::default());
        let ends = std::sync::Barrier::new(THREADS);
        let follow = || {
            for task in 0..2000 {
                let listener = changes.listen(TaskId::from_bits(task));
                ends.wait();
                drop(listener);
            }
        };
        std::thread::scope(|scope| {
            (0..THREADS).for_each(|_| drop(scope.spawn(follow)));
        });
        assert!(changes.lock().is_empty());
    }
}
