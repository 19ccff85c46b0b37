//! The driver itself: its parts, its start, its loop and its end.
//!
//! Start order matters: recovery fills the schedule before the loop runs, and the loop runs before the
//! listeners open. Never holds a lock across an await.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_families::Families;
use gatehouse_media::MediaStore;
use gatehouse_model::{Clock, Seed, TaskId, UnixMs, metric};
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::PriceBook;
use gatehouse_upstream::Upstream;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::Config;
use crate::live::Live;
use crate::text::{TextModels, UnderWay};

/// How long a task rests whose step panicked.
const PANIC_PAUSE: Duration = Duration::from_secs(30);

/// The rooms a driver joins.
pub struct Parts {
    /// Where it is kept.
    pub store: Store,
    /// Where plugins run.
    pub families: Families,
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

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) families: Families,
    pub(crate) upstream: Upstream,
    pub(crate) media: MediaStore,
    pub(crate) config: Config,
    pub(crate) prices: PriceBook,
    pub(crate) models: TextModels,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) live: Live,
    /// Whether a shutdown has begun.
    pub(crate) draining: watch::Sender<bool>,
    pub(crate) keys_generation: AtomicU64,
    steps: Arc<Semaphore>,
    idle: Notify,
    running: AtomicU64,
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
            draining: watch::Sender::new(false),
            keys_generation: AtomicU64::new(0),
            idle: Notify::new(),
            running: AtomicU64::new(0),
            background: std::sync::Mutex::default(),
        });
        inner.recover().await?;
        let background =
            vec![tokio::spawn(Arc::clone(&inner).run_loop()), tokio::spawn(Arc::clone(&inner).keep_house())];
        *inner.background.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = background;
        Ok(Self { inner })
    }

    /// Refuses new work and starts no further step; what is under way may finish.
    pub fn drain(&self) {
        self.inner.draining.send_replace(true);
        self.inner.live.changed.notify_one();
    }

    /// Drains, waits up to `grace` for the steps under way, and stops. A call still in flight then is
    /// found again as ambiguous by the next start.
    pub async fn stop(&self, grace: Duration) {
        self.drain();
        let inner = &self.inner;
        let deadline = inner.clock.pause(grace);
        tokio::pin!(deadline);
        while inner.running.load(Ordering::SeqCst) > 0 {
            tokio::select! {
                () = inner.idle.notified() => {}
                () = &mut deadline => {
                    tracing::warn!(steps = inner.running.load(Ordering::SeqCst), "steps cut short by shutdown");
                    break;
                }
            }
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
        !self.inner.is_draining() && !self.inner.store.has_failed()
    }

    /// The store, for the operators' door.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The families, for the operators' door.
    #[must_use]
    pub fn families(&self) -> &Families {
        &self.inner.families
    }
}

impl Inner {
    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Counts a text request that is under way.
    pub(crate) fn enter(self: &Arc<Self>) -> UnderWay {
        self.running.fetch_add(1, Ordering::SeqCst);
        UnderWay::new(Arc::clone(self))
    }

    /// One step or request less.
    pub(crate) fn leave(&self) {
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
            let draining = self.is_draining();
            if !draining && let Some(due) = self.live.take_due(self.now()) {
                return due;
            }
            match self.live.next_due().filter(|_| !draining) {
                Some(due) => tokio::select! {
                    () = self.clock.pause_until(due) => {}
                    () = self.live.changed.notified() => {}
                },
                None => self.live.changed.notified().await,
            }
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
