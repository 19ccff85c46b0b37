//! What every part of the driver shares, and how far a shutdown has come.
//!
//! Never holds a lock across an await.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use gatehouse_media::MediaStore;
use gatehouse_model::{Clock, Pepper, Seed, Task, Tracer, UnixMs};
use gatehouse_runtime::PluginService;
use gatehouse_store::Store;
use gatehouse_upstream::Upstream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::config::tables::Tables;
use crate::disks::Disk;
use crate::in_progress::InProgress;
use crate::kept_answers::KeptAnswers;
use crate::own_webhooks::OwnWebhooks;
use crate::rates::RateLimiter;
use crate::scheduler::live_tasks::LiveTasks;
use crate::scheduler::store_pause::StorePause;
use crate::step::bulk::groups::CallGroups;
use crate::text::counters::UnpricedCounters;
use crate::waiting_files::WaitingFiles;

/// How far a shutdown has come. Each state includes the restrictions of the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownState {
    /// No shutdown has begun.
    Serving,
    /// Not ready any more, and a wait for a task's end is answered at once. New work is taken and done.
    LameDuck,
    /// No step begins. What is submitted is kept for the next process.
    Draining,
    /// New work is refused.
    Stopped,
}

/// The driver's parts and its soft state.
pub(crate) struct DriverState {
    pub(crate) store: Store,
    pub(crate) plugins: PluginService,
    pub(crate) upstream: Upstream,
    pub(crate) media: MediaStore,
    pub(crate) config: Config,
    /// Replaced as a whole; a request reads it once.
    pub(crate) tables: ArcSwap<Tables>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) pepper: Pepper,
    /// Makes traces, where there is a collector for them.
    pub(crate) tracer: Option<Arc<Tracer>>,
    /// What the log has told of counters without a price.
    pub(crate) unpriced_counters: UnpricedCounters,
    /// Those that may become full.
    pub(crate) disks: Vec<Disk>,
    pub(crate) live: LiveTasks,
    /// What waits for a media store that is away.
    pub(crate) waiting_files: Arc<WaitingFiles>,
    /// Of steps whose task could not be read.
    pub(crate) store_pause: StorePause,
    pub(crate) shutdown: watch::Sender<ShutdownState>,
    /// Moves with every change of a key.
    pub(crate) keys_generation: AtomicU64,
    /// What keys have taken of their rates.
    pub(crate) rates: Arc<RateLimiter>,
    pub(crate) own_webhooks: Arc<OwnWebhooks>,
    /// One for each step that may run at the same time.
    pub(crate) step_permits: Arc<Semaphore>,
    pub(crate) in_progress: Arc<InProgress>,
    /// Shared calls that wait for others.
    pub(crate) call_groups: CallGroups,
    /// What requests with an idempotency key were answered with.
    pub(crate) kept_answers: KeptAnswers,
    /// The scheduler loop and housekeeping.
    pub(crate) background: Mutex<Vec<JoinHandle<()>>>,
}

impl DriverState {
    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// The moment at which the task's time is over. Its row has the wall clock's; what the clock was set forward by since it
    /// began is time that the task has not had.
    pub(crate) fn deadline(&self, task: &Task) -> UnixMs {
        task.deadline.plus(self.clock.skipped(task.created))
    }

    /// The deadline in the row of a task created at that time, whose time is over at `moment` as the clock goes now: the
    /// reverse of [`Self::deadline`].
    pub(crate) fn row_deadline(&self, created: UnixMs, moment: UnixMs) -> UnixMs {
        let skipped = u64::try_from(self.clock.skipped(created).as_millis()).unwrap_or(u64::MAX);
        UnixMs(moment.0.saturating_sub(skipped))
    }

    /// Whether the task must end because its time is over.
    pub(crate) fn is_overdue(&self, task: &Task) -> bool {
        !task.status.is_final() && self.now() >= self.deadline(task)
    }

    pub(crate) fn has_reached(&self, shutdown: ShutdownState) -> bool {
        *self.shutdown.borrow() >= shutdown
    }
}
