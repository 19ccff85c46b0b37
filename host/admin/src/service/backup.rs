//! Backups of the data folder, made while everything goes on. Owns the run under way; what a backup consists of is the gateway's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::Clock;
use gatehouse_store::{Progress, Store};

use super::job::{Jobs, Look};
use crate::api::backup::{BackupRun, BackupView};
use crate::api::doctor::RunState;
use crate::api::error::OperationError;

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
