//! What the process keeps of live tasks besides their rows: due times, pinned versions, account permits, and the
//! requests that wait for a task's end.
//!
//! One lock, held for moments and never across an await. Soft state: a restart rebuilds all of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Clock, Digest, TaskId, UnixMs, metric};
use gatehouse_runtime::Version;
use gatehouse_upstream::{AccountPermit, Permits, QueueEstimate, Waiting};
use tokio::sync::{Notify, oneshot};

use crate::live::due_heap::DueHeap;
use crate::live::{PendingReply, QuietSteps};

/// The live tasks of this process.
#[derive(Default)]
pub(crate) struct LiveTasks {
    state: Mutex<LiveTasksState>,
    /// Notified when a task became due earlier than the scheduler loop knows.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct LiveTasksState {
    due: DueHeap,
    /// In order: what is dropped or asks again with others does so in the same order in every run.
    resources: BTreeMap<TaskId, TaskResources>,
    /// Those that wait for an operator's ruling.
    ambiguous: BTreeSet<TaskId>,
    waiters: HashMap<TaskId, Vec<oneshot::Sender<()>>>,
    /// By model: the provider at which its tasks have waited for their first permit.
    providers: HashMap<String, String>,
}

/// What is held for one task as long as it lives.
#[derive(Default)]
struct TaskResources {
    /// Keeps the admitting version loaded.
    version: Option<Arc<Version>>,
    /// The task's permit at its provider account.
    account_permit: Option<Arc<AccountPermit>>,
    /// Its position in the queue for a permit.
    position: Option<QueuePosition>,
    /// Permits that came while it waited.
    granted: Option<Permits>,
    /// Steps its plugin has taken in this process.
    steps: u32,
    /// What it did that no commit has taken along.
    quiet: QuietSteps,
    /// Providers and accounts that have refused its calls.
    refused: Vec<(String, String)>,
    /// The version that could not read the task's state; it is not asked again.
    unread_by: Option<Digest>,
    /// The version on trial that faulted on the task's next step; it is not asked again while it is on trial.
    faulted_by: Option<Digest>,
    /// Of the reply that its plugin has still to be told.
    pending_reply: Option<PendingReply>,
}

/// A task's position in the queue of a provider.
#[derive(Debug)]
struct QueuePosition {
    provider: String,
    /// The account it waits for; any, if it may have any.
    account: Option<String>,
    waiting: Arc<Waiting>,
}

impl TaskResources {
    fn refused_by(&self, provider: &str) -> Vec<String> {
        let of_provider = self.refused.iter().filter(|(known, _)| known == provider);
        of_provider.map(|(_, account)| account.clone()).collect()
    }
}

impl LiveTasks {
    /// Adds a task: its version stays loaded, and it is due at `due`.
    pub(crate) fn add(
        &self,
        task: TaskId,
        version: Option<Arc<Version>>,
        account_permit: Option<Arc<AccountPermit>>,
        due: UnixMs,
    ) {
        let mut state = self.lock();
        state.resources.insert(task, TaskResources { version, account_permit, ..TaskResources::default() });
        state.due.arm(task, due);
        self.publish(&state);
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a task whose first step is running: it is due when that ends.
    pub(crate) fn add_running(
        &self,
        task: TaskId,
        version: Arc<Version>,
        account_permit: Option<Arc<AccountPermit>>,
    ) {
        let mut state = self.lock();
        let resources = TaskResources { version: Some(version), account_permit, ..TaskResources::default() };
        state.resources.insert(task, resources);
        state.due.begin(task);
        self.publish(&state);
    }

    /// Pins another version, after a migration.
    pub(crate) fn pin(&self, task: TaskId, version: Arc<Version>) {
        self.with(task, |own| own.version = Some(version));
    }

    /// Counts a step of the task's plugin; gives the number of its steps so far.
    pub(crate) fn count_step(&self, task: TaskId) -> u32 {
        let counted = self.with(task, |own| {
            own.steps = own.steps.saturating_add(1);
            own.steps
        });
        counted.unwrap_or(0)
    }

    /// Takes what is counted of the task's steps without a commit.
    pub(crate) fn take_quiet(&self, task: TaskId) -> QuietSteps {
        self.with(task, |own| std::mem::take(&mut own.quiet)).unwrap_or_default()
    }

    /// Keeps what is counted of the task's steps without a commit.
    pub(crate) fn keep_quiet(&self, task: TaskId, quiet: QuietSteps) {
        self.with(task, |own| own.quiet = quiet);
    }

    /// Whether that version has failed to read the task's state before.
    pub(crate) fn is_unread_by(&self, task: TaskId, digest: Digest) -> bool {
        self.with(task, |own| own.unread_by == Some(digest)).unwrap_or_default()
    }

    /// Remembers that a version cannot read the task's state.
    pub(crate) fn mark_unread(&self, task: TaskId, digest: Digest) {
        self.with(task, |own| own.unread_by = Some(digest));
    }

    /// Whether that version has faulted on the task's next step before.
    pub(crate) fn is_faulted_by(&self, task: TaskId, digest: Digest) -> bool {
        self.with(task, |own| own.faulted_by == Some(digest)).unwrap_or_default()
    }

    /// Remembers that a version faults on the task's next step; `None` once a step was taken.
    pub(crate) fn mark_faulted(&self, task: TaskId, digest: Option<Digest>) {
        self.with(task, |own| own.faulted_by = digest);
    }

    /// Keeps what is known of a reply until its plugin is told.
    pub(crate) fn keep_pending_reply(&self, task: TaskId, pending: PendingReply) {
        self.with(task, |own| own.pending_reply = Some(pending));
    }

    /// Takes what is known of the reply that the plugin is about to be told.
    pub(crate) fn take_pending_reply(&self, task: TaskId) -> Option<PendingReply> {
        self.with(task, |own| own.pending_reply.take())?
    }

    /// The task's permit, if it has one.
    pub(crate) fn account_permit(&self, task: TaskId) -> Option<Arc<AccountPermit>> {
        self.with(task, |own| own.account_permit.clone())?
    }

    /// Keeps a permit for the task until it ends.
    pub(crate) fn keep_account_permit(&self, task: TaskId, permit: Arc<AccountPermit>) {
        // A returned permit may be granted to another task, which takes the lock.
        drop(self.with(task, |own| own.account_permit.replace(permit)));
    }

    /// The task gives its permit back: another account is to have it.
    pub(crate) fn drop_account_permit(&self, task: TaskId) {
        drop(self.with(task, |own| own.account_permit.take()));
    }

    /// Accounts of that provider that have refused the task's calls.
    pub(crate) fn refused(&self, task: TaskId, provider: &str) -> Vec<String> {
        self.with(task, |own| own.refused_by(provider)).unwrap_or_default()
    }

    /// Remembers that an account has refused the task's call; all that have.
    pub(crate) fn note_refused(&self, task: TaskId, provider: &str, account: &str) -> Vec<String> {
        let refused = self.with(task, |own| {
            own.refused.push((provider.to_owned(), account.to_owned()));
            own.refused_by(provider)
        });
        refused.unwrap_or_else(|| vec![account.to_owned()])
    }

    /// Whether the task already waits for that permit.
    pub(crate) fn is_queued(&self, task: TaskId, provider: &str, account: Option<&str>) -> bool {
        let is_it = |at: &QueuePosition| at.provider == provider && at.account.as_deref() == account;
        self.with(task, |own| own.position.as_ref().is_some_and(is_it)).unwrap_or_default()
    }

    /// The task waits for a permit in the provider's queue.
    pub(crate) fn enter_queue(&self, task: TaskId, provider: &str, account: Option<&str>, waiting: Waiting) {
        let position = QueuePosition {
            provider: provider.to_owned(),
            account: account.map(str::to_owned),
            waiting: Arc::new(waiting),
        };
        let before = {
            let mut state = self.lock();
            match state.resources.get_mut(&task) {
                // It was granted before it got here.
                Some(resources) if resources.granted.is_some() => Some(position),
                Some(resources) => resources.position.replace(position),
                None => Some(position),
            }
        };
        drop(before);
    }

    /// Where the task stands in the queue that it waits in; `None` where it waits in none.
    pub(crate) fn queue_estimate(&self, task: TaskId) -> Option<QueueEstimate> {
        // The pool has a lock of its own, which is never taken within this one.
        let waiting = self.with(task, |own| own.position.as_ref().map(|at| Arc::clone(&at.waiting)));
        waiting??.estimate()
    }

    /// A permit the task waited for: its step goes on with it. One that nobody takes is returned.
    pub(crate) fn grant(&self, task: TaskId, permits: Permits, now: UnixMs) {
        let left = {
            let mut state = self.lock();
            match state.resources.get_mut(&task) {
                Some(resources) => {
                    let before = (resources.granted.replace(permits), resources.position.take());
                    state.due.wake(task, now);
                    Ok(before)
                }
                None => Err(permits),
            }
        };
        drop(left);
        self.changed.notify_one();
    }

    /// The permits that came while the task waited. With them it leaves the queue; its next call decides anew.
    pub(crate) fn take_granted(&self, task: TaskId) -> Option<Permits> {
        self.with(task, |own| own.granted.take())?
    }

    /// The task does not wait for a permit any more.
    pub(crate) fn leave_queue(&self, task: TaskId) {
        drop(self.with(task, |own| own.position.take()));
    }

    /// Remembers where the first call of a model's tasks goes.
    pub(crate) fn note_provider(&self, model: &str, provider: &str) {
        let mut state = self.lock();
        if state.providers.get(model).is_none_or(|known| known != provider) {
            state.providers.insert(model.to_owned(), provider.to_owned());
        }
    }

    /// Where the first call of a model's tasks goes, if one had to wait there.
    pub(crate) fn provider_of(&self, model: &str) -> Option<String> {
        self.lock().providers.get(model).cloned()
    }

    /// Whether the task waits for an operator's ruling from now on. Told by its own steps only, which do not overlap.
    pub(crate) fn note_ambiguous(&self, task: TaskId, is: bool) {
        let mut state = self.lock();
        let is = is && state.resources.contains_key(&task);
        let has_changed = if is { state.ambiguous.insert(task) } else { state.ambiguous.remove(&task) };
        if has_changed {
            self.publish(&state);
        }
    }

    /// How many tasks wait for an operator's ruling.
    pub(crate) fn ambiguous(&self) -> usize {
        self.lock().ambiguous.len()
    }

    /// Takes the next due task.
    pub(crate) fn take_due(&self, now: UnixMs) -> Option<(TaskId, UnixMs)> {
        self.lock().due.take_due(now)
    }

    /// When the next task is due.
    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.lock().due.next_due()
    }

    /// A step ended without ending its task. The loop that waits for the next due task hears of it only where this is that task:
    /// thousands of polls a second would wake it for nothing.
    pub(crate) fn rearm(&self, task: TaskId, due: UnixMs, now: UnixMs) {
        let is_next = self.lock().due.rearm(task, due, now);
        if is_next {
            self.changed.notify_one();
        }
    }

    /// Makes a task due now.
    pub(crate) fn wake(&self, task: TaskId, now: UnixMs) {
        self.lock().due.wake(task, now);
        self.changed.notify_one();
    }

    /// Every task that waits for a permit asks again: there may be other accounts.
    pub(crate) fn ask_again(&self, now: UnixMs) {
        let positions: Vec<(TaskId, QueuePosition)> = {
            let mut state = self.lock();
            let resources = state.resources.iter_mut();
            let waiting = resources.filter_map(|(task, own)| Some((*task, own.position.take()?)));
            let waiting: Vec<_> = waiting.collect();
            waiting.iter().for_each(|(task, _)| state.due.wake(*task, now));
            waiting
        };
        drop(positions);
        self.changed.notify_one();
    }

    /// Forgets an ended task: its version may unload, its permit goes to the next that waits for one, and the requests
    /// that wait for the end are answered.
    pub(crate) fn end(&self, task: TaskId) {
        let resources = {
            let mut state = self.lock();
            state.due.forget(task);
            state.ambiguous.remove(&task);
            state.resources.remove(&task)
        };
        // Version and permit first: they are free when a request learns of the end. Another task may be granted the permit,
        // which takes the lock.
        drop(resources);
        let mut state = self.lock();
        for waiter in state.waiters.remove(&task).unwrap_or_default() {
            // The client may have disconnected.
            let _ = waiter.send(());
        }
        self.publish(&state);
        drop(state);
        self.changed.notify_one();
    }

    /// A receiver that is notified when the task ends; `None` when it is not live.
    pub(crate) fn wait_for_end(&self, task: TaskId) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        if !state.resources.contains_key(&task) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let waiters = state.waiters.entry(task).or_default();
        waiters.retain(|waiter| !waiter.is_closed());
        waiters.push(sender);
        Some(receiver)
    }

    #[expect(clippy::cast_precision_loss, reason = "a gauge")]
    fn publish(&self, state: &LiveTasksState) {
        metrics::gauge!(metric::TASKS_LIVE).set(state.resources.len() as f64);
        metrics::gauge!(metric::TASKS_AMBIGUOUS).set(state.ambiguous.len() as f64);
    }

    /// Reads or changes what is held for a live task. What comes out of it is dropped without the lock, and so is what
    /// was meant for a task that is not live any more: a permit among it may be granted to a task, which takes the lock.
    fn with<T>(&self, task: TaskId, act: impl FnOnce(&mut TaskResources) -> T) -> Option<T> {
        let mut state = self.lock();
        let own = state.resources.get_mut(&task)?;
        Some(act(own))
    }

    fn lock(&self) -> MutexGuard<'_, LiveTasksState> {
        // Every change under the lock is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a task rests after a panic in its step.
const PANIC_PAUSE: Duration = Duration::from_secs(30);

/// A step that has begun; its task rests, if this is dropped without [`StepGuard::end`].
pub(crate) struct StepGuard<'a> {
    live: &'a LiveTasks,
    clock: &'a dyn Clock,
    task: TaskId,
    has_ended: bool,
}

impl<'a> StepGuard<'a> {
    pub(crate) fn new(live: &'a LiveTasks, clock: &'a dyn Clock, task: TaskId) -> Self {
        Self { live, clock, task, has_ended: false }
    }

    /// The step has ended, and its task is scheduled again or forgotten.
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let now = self.clock.now();
            self.live.rearm(self.task, now.plus(PANIC_PAUSE), now);
        }
    }
}
