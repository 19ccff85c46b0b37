//! The driver itself: its parts, its start, its loop and its end.
//!
//! Start order matters: recovery fills the schedule before the loop runs, and the loop runs before the
//! listeners open. Never holds a lock across an await.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_media::MediaStore;
use gatehouse_model::{Clock, Seed, TaskId, UnixMs, metric};
use gatehouse_runtime::PluginService;
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::PriceBook;
use gatehouse_upstream::Upstream;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::Config;
use crate::live::Live;
use crate::text::{TextModels, UnderWay};

/// The loop sleeps no longer than this at a time: the wall clock may be set meanwhile, and time limits go by it.
const NAP: Duration = Duration::from_secs(5);
/// How long a task rests whose step panicked.
const PANIC_PAUSE: Duration = Duration::from_secs(30);

/// The rooms a driver joins.
pub struct Parts {
    /// Where it is kept.
    pub store: Store,
    /// Where plugins run.
    pub families: PluginService,
    /// What leaves.
    pub upstream: Upstream,
    /// What is big.
    pub media: MediaStore,
    /// What an operator set.
    pub config: Config,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seed: Arc<dyn Seed>,
}

/// The whole gateway behind its listeners. Cheap to clone.
#[derive(Clone)]
pub struct Driver {
    pub(crate) inner: Arc<Inner>,
}

/// How far a shutdown has come. Each stage holds what the ones before it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Working.
    Open,
    /// Not ready any more, and nobody is made to wait for the end of a task; work is taken and done.
    Leaving,
    /// No step begins; what is submitted is kept for the next process.
    Draining,
    /// Nothing is taken.
    Stopped,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) families: PluginService,
    pub(crate) upstream: Upstream,
    pub(crate) media: MediaStore,
    pub(crate) config: Config,
    pub(crate) prices: PriceBook,
    pub(crate) models: TextModels,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) live: Live,
    /// How far a shutdown has come.
    pub(crate) stage: watch::Sender<Stage>,
    pub(crate) keys_generation: AtomicU64,
    steps: Arc<Semaphore>,
    idle: Notify,
    running: AtomicU64,
    calls: AtomicU64,
    background: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

/// Why a driver could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The price table is unusable.
    #[error("prices: {0}")]
    Prices(String),
    /// The table of text models is unusable.
    #[error("models.{path}: {why}")]
    Models {
        /// Below `models`.
        path: String,
        /// What was expected and what came.
        why: String,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Driver {
    /// Joins the rooms, picks up every live task, and starts the loop.
    ///
    /// # Errors
    /// An unusable price table, or a store that cannot be read.
    pub async fn start(parts: Parts) -> Result<Self, StartError> {
        let Parts { store, families, upstream, media, config, clock, seed } = parts;
        let prices = prices(&config.prices)?;
        let models =
            TextModels::new(&config.models).map_err(|(path, why)| StartError::Models { path, why })?;
        let inner = Arc::new(Inner {
            steps: Arc::new(Semaphore::new(config.concurrency.max(1))),
            store,
            families,
            upstream,
            media,
            config,
            prices,
            models,
            clock,
            seed,
            live: Live::default(),
            stage: watch::Sender::new(Stage::Open),
            keys_generation: AtomicU64::new(0),
            idle: Notify::new(),
            running: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            background: std::sync::Mutex::default(),
        });
        inner.recover().await?;
        let background =
            vec![tokio::spawn(Arc::clone(&inner).run_loop()), tokio::spawn(Arc::clone(&inner).keep_house())];
        *inner.background.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = background;
        Ok(Self { inner })
    }

    /// Begins a shutdown: [`Driver::is_ready`] says no, and who waits for a task's end is answered with what
    /// there is. Work is still taken and done, for the sake of who has not heard yet.
    pub fn leave(&self) {
        self.inner.reach(Stage::Leaving);
    }

    /// Starts no further step. What is under way may finish; what is still submitted is durable, and the next
    /// process does it.
    pub fn drain(&self) {
        self.inner.reach(Stage::Draining);
    }

    /// Refuses new work, waits for what is under way, and stops: up to `steps` for whatever the next start can
    /// repeat, up to `calls` beyond that for calls it may not. A call still in flight then is found again as
    /// ambiguous by the next start.
    pub async fn stop(&self, steps: Duration, calls: Duration) {
        let inner = &self.inner;
        inner.reach(Stage::Stopped);
        if !inner.none_left(&inner.running, steps).await && !inner.none_left(&inner.calls, calls).await {
            tracing::warn!(calls = inner.calls.load(Ordering::SeqCst), "calls cut short by shutdown");
        }
        let background =
            std::mem::take(&mut *inner.background.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        for task in background {
            task.abort();
        }
    }

    /// Ends when the store has failed: the process must stop, and a restart recovers.
    pub async fn failed(&self) {
        let error = self.inner.store.failed().await;
        tracing::error!(%error, "the store is gone");
    }

    /// Ready to take work: the store is writable and no shutdown has begun.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.inner.stage.borrow() == Stage::Open && !self.inner.store.has_failed()
    }

    /// The store, for the operators' door.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The families, for the operators' door.
    #[must_use]
    pub fn families(&self) -> &PluginService {
        &self.inner.families
    }
}

impl Inner {
    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    pub(crate) fn has_reached(&self, stage: Stage) -> bool {
        *self.stage.borrow() >= stage
    }

    /// Goes on to a stage of the shutdown, never back.
    fn reach(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let further = *now < stage;
            *now = (*now).max(stage);
            further
        });
        self.live.changed.notify_one();
    }

    /// Whether `count` came down to zero within `grace`.
    async fn none_left(&self, count: &AtomicU64, grace: Duration) -> bool {
        let mut deadline = self.clock.pause(grace);
        while count.load(Ordering::SeqCst) > 0 {
            tokio::select! {
                biased;
                () = self.idle.notified() => {}
                () = &mut deadline => return count.load(Ordering::SeqCst) == 0,
            }
        }
        true
    }

    /// Counts a call that may not be repeated, until what is returned is dropped.
    pub(crate) fn count_call(&self) -> Calling<'_> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Calling(self)
    }

    /// Counts a text request that is under way: work, and a call that may not be repeated.
    pub(crate) fn enter_text(self: &Arc<Self>) -> UnderWay {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.calls.fetch_add(1, Ordering::SeqCst);
        UnderWay::new(Arc::clone(self))
    }

    /// One text request less.
    pub(crate) fn leave_text(&self) {
        self.calls.fetch_sub(1, Ordering::SeqCst);
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.idle.notify_one();
    }

    /// One step less.
    fn leave(&self) {
        if self.running.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.idle.notify_one();
        }
    }

    /// Takes due tasks and steps them, as many at once as the configuration allows.
    async fn run_loop(self: Arc<Self>) {
        loop {
            let Ok(permit) = Arc::clone(&self.steps).acquire_owned().await else { return };
            let (task, due) = self.next_due().await;
            metrics::histogram!(metric::LATENESS_SECONDS).record(self.now().since(due).as_secs_f64());
            self.running.fetch_add(1, Ordering::SeqCst);
            let inner = Arc::clone(&self);
            tokio::spawn(async move {
                let mut running = Running { inner: &inner, task, ended: false };
                inner.drive(task, permit).await;
                running.ended = true;
            });
        }
    }

    async fn next_due(&self) -> (TaskId, UnixMs) {
        loop {
            let draining = self.has_reached(Stage::Draining);
            if !draining && let Some(due) = self.live.take_due(self.now()) {
                return due;
            }
            match self.live.next_due().filter(|_| !draining) {
                Some(due) => tokio::select! {
                    biased;
                    () = self.clock.pause(due.since(self.now()).min(NAP)) => {}
                    () = self.live.changed.notified() => {}
                },
                None => self.live.changed.notified().await,
            }
        }
    }
}

/// A call under way that may not be repeated.
pub(crate) struct Calling<'a>(&'a Inner);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_one();
        }
    }
}

/// One step under way. A step that panics is counted down all the same, so that a shutdown never waits for
/// a ghost, and its task is visited again.
struct Running<'a> {
    inner: &'a Inner,
    task: TaskId,
    ended: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let inner = self.inner;
        if !self.ended {
            let now = inner.now();
            inner.live.rearm(self.task, now.plus(PANIC_PAUSE), now);
        }
        inner.leave();
    }
}

fn prices(table: &BTreeMap<String, gatehouse_model::Credits>) -> Result<PriceBook, StartError> {
    PriceBook::new(table.clone()).map_err(|error| StartError::Prices(error.to_string()))
}
