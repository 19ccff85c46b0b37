//! Work that takes long and is looked at meanwhile: backups of the data folder and the doctor's examinations. One run of a kind at a
//! time, which goes on whether anybody looks or not; its end is kept until the next one begins.
//!
//! What a backup consists of is the gateway's. The doctor reads the store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::Clock;
use gatehouse_store::{Progress, Store};
use gatehouse_tasks::Report;
use tokio::sync::watch;

use crate::api::error::OperationError;
use crate::api::system::{BackupRun, BackupView, DoctorReport, DoctorRun, RunState};

/// A look waits so long for the end, so that a client that looks again and again does not hurry.
const LOOK: Duration = Duration::from_millis(500);

/// The runs of one kind.
pub(crate) struct Jobs<T, P>(Mutex<Option<Arc<Run<T, P>>>>);

impl<T, P> Default for Jobs<T, P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

struct Run<T, P> {
    number: u64,
    progress: Arc<P>,
    outcome: watch::Sender<Option<Result<T, OperationError>>>,
}

/// How far a run is.
pub(crate) struct Look<T, P> {
    pub(crate) number: u64,
    pub(crate) progress: Arc<P>,
    /// `None` while it goes on.
    pub(crate) end: Option<T>,
}

impl<T: Clone + Send + Sync + 'static, P: Default + Send + Sync + 'static> Jobs<T, P> {
    /// Begins a run of `work`, on a blocking thread; false while another one goes on.
    pub(crate) fn begin(&self, work: impl FnOnce(&P) -> Result<T, OperationError> + Send + 'static) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|run| run.outcome.borrow().is_none()) {
            return false;
        }
        let number = last.as_ref().map_or(1, |run| run.number + 1);
        let run = Arc::new(Run { number, progress: Arc::default(), outcome: watch::Sender::new(None) });
        let begun = Arc::clone(&run);
        tokio::spawn(async move {
            let progress = Arc::clone(&begun.progress);
            let outcome = on_blocking_thread(move || work(&progress)).await.and_then(|outcome| outcome);
            begun.outcome.send_replace(Some(outcome));
        });
        *last = Some(run);
        true
    }

    /// How far the run `wanted` is; without a number the last one. Waits a moment for its end.
    pub(crate) async fn look(
        &self,
        clock: &dyn Clock,
        wanted: Option<u64>,
    ) -> Result<Look<T, P>, OperationError> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(run) = last.filter(|run| wanted.is_none_or(|wanted| wanted == run.number)) else {
            let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted}"));
            return Err(OperationError::NotFound(format!(
                "there is no run{wanted}, or another one began since"
            )));
        };
        let mut outcome = run.outcome.subscribe();
        tokio::select! {
            biased;
            // The sender is in `run`.
            _ = outcome.wait_for(Option::is_some) => {}
            () = clock.pause(LOOK) => {}
        }
        let end = outcome.borrow().clone().transpose()?;
        Ok(Look { number: run.number, progress: Arc::clone(&run.progress), end })
    }
}

/// Runs long work on a blocking thread, away from the async workers.
pub(super) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, OperationError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| OperationError::Failed(format!("the operation was cut short: {error}")))
}

/// What makes backups.
pub trait Backups: Send + Sync {
    /// Makes one at `to`, a folder or an address of a bucket, where nothing may be yet, and looks at what it made. Blocks a thread of
    /// the async runtime that may be blocked.
    ///
    /// # Errors
    /// [`OperationError::Invalid`] for a place that cannot be used; nothing is left in it.
    fn make(&self, store: &Store, to: &str, progress: &BackupProgress) -> Result<BackupView, OperationError>;
}

/// How far a backup is.
#[derive(Debug, Default)]
pub struct BackupProgress {
    /// Rows that are copied, and then checked.
    pub rows: Progress,
    sent: AtomicU64,
    to_send: AtomicU64,
}

impl BackupProgress {
    /// So many bytes more go to a bucket.
    pub fn expect_bytes(&self, bytes: u64) {
        self.to_send.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many bytes more went there.
    pub fn send_bytes(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Has backups made, one at a time.
pub struct BackupRuns {
    store: Store,
    clock: Arc<dyn Clock>,
    backups: Arc<dyn Backups>,
    runs: Jobs<BackupView, BackupProgress>,
}

impl BackupRuns {
    pub(super) fn new(store: Store, clock: Arc<dyn Clock>, backups: Arc<dyn Backups>) -> Self {
        Self { store, clock, backups, runs: Jobs::default() }
    }

    /// Begins a backup of everything that is confirmed by now.
    pub(crate) async fn begin(&self, to: String) -> Result<BackupRun, OperationError> {
        // What was answered is in the copy, deferred commands too.
        self.store.flush().await?;
        let (store, backups) = (self.store.clone(), Arc::clone(&self.backups));
        if !self.runs.begin(move |progress| backups.make(&store, &to, progress)) {
            return Err(OperationError::Busy("another backup is being made; wait for its end".to_owned()));
        }
        self.look(None).await
    }

    /// How far a backup is; without a number the last one.
    pub(crate) async fn look(&self, wanted: Option<u64>) -> Result<BackupRun, OperationError> {
        let Look { number, progress, end } = self.runs.look(&*self.clock, wanted).await?;
        let state = if end.is_some() { RunState::Done } else { RunState::Running };
        let (done, of) = progress.rows.so_far();
        let [sent_bytes, bytes_to_send] =
            [&progress.sent, &progress.to_send].map(|bytes| bytes.load(Ordering::Relaxed));
        Ok(BackupRun { run: number, state, done, of, sent_bytes, bytes_to_send, backup: end })
    }
}

/// Examines the store, once at a time.
pub struct Doctor {
    store: Store,
    clock: Arc<dyn Clock>,
    runs: Jobs<DoctorReport, Progress>,
}

impl Doctor {
    pub(super) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, runs: Jobs::default() }
    }

    /// How far the examination `wanted` is; without a number the one under way, or a new one. Waits a moment for its end.
    pub(crate) async fn look(&self, wanted: Option<u64>) -> Result<DoctorRun, OperationError> {
        if wanted.is_none() {
            let store = self.store.clone();
            // Where one is under way, that one is looked at.
            self.runs.begin(move |progress| Ok(DoctorReport::from(store.examine_with(progress)?)));
        }
        let Look { number, progress, end } = self.runs.look(&*self.clock, wanted).await?;
        let (checked, of) = progress.so_far();
        let state = if end.is_some() { RunState::Done } else { RunState::Running };
        Ok(DoctorRun { run: number, state, checked, of, report: end })
    }
}

impl From<Report> for DoctorReport {
    fn from(report: Report) -> Self {
        let sound = report.is_clean();
        let mut findings = report.findings;
        let listed = u64::try_from(findings.len()).unwrap_or(u64::MAX);
        if report.found > listed {
            findings.push(format!("and {} more", report.found - listed));
        }
        let counts = [
            ("accounts", report.customers),
            ("keys", report.keys),
            ("ledger entries", report.entries),
            ("open holds", report.holds),
            ("live tasks", report.live),
            ("names", report.names),
            ("finished tasks", report.finished),
            ("price versions", report.price_books),
            ("deployment reports", report.deployments),
        ];
        let counts = counts.map(|(name, count)| (name.to_owned(), count));
        Self { sound, findings, counts: BTreeMap::from(counts), imbalance_micro: report.imbalance.0 }
    }
}
