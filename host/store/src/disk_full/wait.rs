//! The wait of the writer for room on its disk.
//!
//! redb is of no more use after one failed write: nothing can be read from it either, until the file is opened again.
//! So a write for which the disk has no room is no failure here: it is tried again until there is room, and the commit
//! it belongs to is late, not lost. Reads go on meanwhile. Only [`DiskWait::close`] ends the wait with the disk's error.

use std::io::{self, ErrorKind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::metric;
use tokio::sync::watch;

/// Between two tries of a write.
const RETRY: Duration = Duration::from_millis(250);

/// Whether the disk of one store has room.
#[derive(Debug)]
pub(crate) struct DiskWait {
    closing: Mutex<bool>,
    closed: Condvar,
    waits: watch::Sender<bool>,
}

impl Default for DiskWait {
    fn default() -> Self {
        Self { closing: Mutex::default(), closed: Condvar::new(), waits: watch::Sender::new(false) }
    }
}

impl DiskWait {
    /// Makes a change of the file, as often as it takes; blocks meanwhile.
    ///
    /// # Errors
    /// Those of the change, except for a full disk while the store is open.
    pub(crate) fn change(&self, mut change: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        loop {
            match change() {
                Err(error) if is_full(&error) => {
                    let closing = self.closing();
                    if *closing {
                        return Err(error);
                    }
                    self.set_waits(true, &error);
                    // Returns early only for the end of the store, which the next round sees.
                    drop(self.closed.wait_timeout(closing, RETRY).unwrap_or_else(PoisonError::into_inner));
                }
                outcome => {
                    if let Ok(()) = outcome
                        && self.waits()
                    {
                        self.set_waits(false, &"");
                    }
                    return outcome;
                }
            }
        }
    }

    /// Whether a commit waits for room now.
    pub(crate) fn waits(&self) -> bool {
        *self.waits.borrow()
    }

    /// Ends when a commit waits for room.
    pub(crate) async fn until_waiting(&self) {
        // The sender lives as long as `self`, so the wait ends by a full disk only.
        let _ = self.waits.subscribe().wait_for(|waits| *waits).await;
    }

    /// A change that finds no room fails from now on: a store that is being closed cannot wait.
    pub(crate) fn close(&self) {
        *self.closing() = true;
        self.closed.notify_all();
    }

    fn closing(&self) -> MutexGuard<'_, bool> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_waits(&self, waits: bool, error: &dyn std::fmt::Display) {
        let changed = self.waits.send_if_modified(|before| std::mem::replace(before, waits) != waits);
        if !changed {
            return;
        }
        metrics::gauge!(metric::STORE_WAITS).set(if waits { 1.0 } else { 0.0 });
        if waits {
            tracing::error!(%error, "the store's disk is full: nothing can be written until it has room, reads go on");
        } else {
            tracing::info!("the store's disk has room again: writing goes on");
        }
    }
}

/// The disk, or the owner's quota on it, has no room. A file that may not grow further is another matter: no other
/// file's end helps it.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
