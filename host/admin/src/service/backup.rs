//! Backups of the data folder, made while everything goes on. Owns the run under way; what a backup consists of is the gateway's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::Clock;
use gatehouse_store::{Progress, Store};

use super::job::{Jobs, Look};
use crate::api::backup::{BackupRun, BackupView};
use crate::api::doctor::RunState;
use crate::api::error::OperationError;

/// What makes backups.
pub trait Backups: Send + Sync {
    /// Makes one in `folder`, which must be empty or not there, and looks at what it made. Blocks.
    ///
    /// # Errors
    /// [`OperationError::Invalid`] for a folder that cannot be used; nothing is left in it.
    fn make(&self, store: &Store, folder: &Path, progress: &Progress) -> Result<BackupView, OperationError>;
}

/// Has backups made, one at a time.
pub struct BackupRuns {
    store: Store,
    clock: Arc<dyn Clock>,
    backups: Arc<dyn Backups>,
    runs: Jobs<BackupView>,
}

impl BackupRuns {
    pub(super) fn new(store: Store, clock: Arc<dyn Clock>, backups: Arc<dyn Backups>) -> Self {
        Self { store, clock, backups, runs: Jobs::default() }
    }

    /// Begins a backup of everything that is confirmed by now.
    pub(crate) async fn begin(&self, folder: PathBuf) -> Result<BackupRun, OperationError> {
        // What was answered is in the copy, deferred commands too.
        self.store.flush().await?;
        let (store, backups) = (self.store.clone(), Arc::clone(&self.backups));
        if !self.runs.begin(move |progress| backups.make(&store, &folder, progress)) {
            return Err(OperationError::Busy("another backup is being made; wait for its end".to_owned()));
        }
        self.look(None).await
    }

    /// How far a backup is; without a number the last one.
    pub(crate) async fn look(&self, wanted: Option<u64>) -> Result<BackupRun, OperationError> {
        let Look { number, checked, of, end } = self.runs.look(&*self.clock, wanted).await?;
        let state = if end.is_some() { RunState::Done } else { RunState::Running };
        Ok(BackupRun { run: number, state, done: checked, of, backup: end })
    }
}
