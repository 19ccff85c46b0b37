//! What the process remembers of live tasks besides their rows: due times, pinned versions, places at
//! accounts, and who waits for an end.
//!
//! One lock, held for moments and never across an await. Soft state: a restart rebuilds all of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_model::{Digest, TaskId, UnixMs, metric};
use gatehouse_runtime::Version;
use gatehouse_upstream::Place;
use tokio::sync::{Notify, oneshot};

use crate::schedule::Schedule;

/// The live tasks of this process.
#[derive(Default)]
pub(crate) struct Live {
    state: Mutex<State>,
    /// Rung when something became due earlier than the loop knows.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct State {
    schedule: Schedule,
    kept: HashMap<TaskId, Kept>,
    waiters: HashMap<TaskId, Vec<oneshot::Sender<()>>>,
}

/// What is held for one task as long as it lives.
#[derive(Default)]
struct Kept {
    /// Keeps the admitting version loaded.
    version: Option<Arc<Version>>,
    /// The task's place at its provider account.
    place: Option<Arc<Place>>,
    /// Steps its plugin has taken in this process.
    steps: u32,
    /// The build that could not read the task's state; it is not asked again.
    unread_by: Option<Digest>,
}

impl Live {
    /// Adds a task: its version stays loaded, and it is due at `due`.
    pub(crate) fn add(
        &self,
        task: TaskId,
        version: Option<Arc<Version>>,
        place: Option<Arc<Place>>,
        due: UnixMs,
    ) {
        let mut state = self.lock();
        state.kept.insert(task, Kept { version, place, ..Kept::default() });
        state.schedule.arm(task, due);
        self.publish(&state);
        drop(state);
        self.changed.notify_one();
    }

    /// Pins another version, after a migration.
    pub(crate) fn pin(&self, task: TaskId, version: Arc<Version>) {
        if let Some(kept) = self.lock().kept.get_mut(&task) {
            kept.version = Some(version);
        }
    }

    /// Counts a step of the task's plugin; how many there were with it.
    pub(crate) fn count_step(&self, task: TaskId) -> u32 {
        self.lock().kept.get_mut(&task).map_or(0, |kept| {
            kept.steps = kept.steps.saturating_add(1);
            kept.steps
        })
    }

    /// Whether that build has failed to read the task's state before.
    pub(crate) fn is_unread_by(&self, task: TaskId, build: Digest) -> bool {
        self.lock().kept.get(&task).is_some_and(|kept| kept.unread_by == Some(build))
    }

    /// Remembers that a build cannot read the task's state.
    pub(crate) fn mark_unread(&self, task: TaskId, build: Digest) {
        if let Some(kept) = self.lock().kept.get_mut(&task) {
            kept.unread_by = Some(build);
        }
    }

    /// The task's place, if it has one.
    pub(crate) fn place(&self, task: TaskId) -> Option<Arc<Place>> {
        self.lock().kept.get(&task).and_then(|kept| kept.place.clone())
    }

    /// Holds a place for the task until it ends.
    pub(crate) fn keep_place(&self, task: TaskId, place: Arc<Place>) {
        if let Some(kept) = self.lock().kept.get_mut(&task) {
            kept.place = Some(place);
        }
    }

    /// Takes the next due task.
    pub(crate) fn take_due(&self, now: UnixMs) -> Option<(TaskId, UnixMs)> {
        self.lock().schedule.take_due(now)
    }

    /// When the next task is due.
    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.lock().schedule.next_due()
    }

    /// A step ended without ending its task.
    pub(crate) fn rearm(&self, task: TaskId, due: UnixMs, now: UnixMs) {
        self.lock().schedule.rearm(task, due, now);
        self.changed.notify_one();
    }

    /// Makes a task due now.
    pub(crate) fn wake(&self, task: TaskId, now: UnixMs) {
        self.lock().schedule.wake(task, now);
        self.changed.notify_one();
    }

    /// Queues a task for a free place.
    pub(crate) fn park(&self, provider: &str, task: TaskId) {
        self.lock().schedule.park(provider, task);
    }

    /// Takes a task out of the queue for a place.
    pub(crate) fn leave_queue(&self, task: TaskId) {
        self.lock().schedule.leave_queue(task);
    }

    /// Forgets an ended task: its version may unload, its place goes to whoever waited longest, and
    /// those who waited for the end are told.
    pub(crate) fn end(&self, task: TaskId, now: UnixMs) {
        let mut state = self.lock();
        state.schedule.forget(task);
        // Version and place go first: whoever hears of the end finds them free.
        if let Some(place) = state.kept.remove(&task).and_then(|kept| kept.place) {
            let provider = place.provider().to_owned();
            drop(place);
            state.schedule.unpark(&provider, now);
        }
        for waiter in state.waiters.remove(&task).unwrap_or_default() {
            // The one who waited may have gone; that is its right.
            let _ = waiter.send(());
        }
        self.publish(&state);
        drop(state);
        self.changed.notify_one();
    }

    /// A receiver that is told when the task ends; `None` when it is not live.
    pub(crate) fn wait_for_end(&self, task: TaskId) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        if !state.kept.contains_key(&task) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let waiters = state.waiters.entry(task).or_default();
        waiters.retain(|waiter| !waiter.is_closed());
        waiters.push(sender);
        Some(receiver)
    }

    #[expect(clippy::cast_precision_loss, reason = "a gauge")]
    fn publish(&self, state: &State) {
        metrics::gauge!(metric::TASKS_LIVE).set(state.kept.len() as f64);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change below the lock is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
