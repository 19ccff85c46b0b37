//! A backend whose changes wait for room. Everything else is the inner backend's.

use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gatehouse_model::metric;
use redb::{BackendError, StorageBackend};

use crate::disk_full::unsynced::{Change, Unsynced};
use crate::wait::WriterWait;

/// The locks of a backend of redb are those of the one below it.
macro_rules! locks_of {
    ($below:ident $($lock:ident -> $of:ty),+) => {$(
        fn $lock(&self, start: Bound<u64>, end: Bound<u64>) -> Result<$of, BackendError> {
            self.$below.$lock(start, end)
        }
    )+};
    ($below:ident) => {
        locks_of! {
            $below try_lock_range -> bool, try_lock_shared_range -> bool, lock_range -> (), lock_shared_range -> (),
            unlock_range -> (), query_lock_range -> bool
        }
    };
}
pub(crate) use locks_of;

/// See [`WriterWait`].
#[derive(Debug)]
pub(crate) struct WaitingBackend<B> {
    inner: B,
    wait: Arc<WriterWait>,
    /// Locked for the whole of a change, so that it has the order of the file.
    unsynced: Mutex<Unsynced>,
}

impl<B: StorageBackend> WaitingBackend<B> {
    pub(crate) fn new(inner: B, wait: Arc<WriterWait>) -> Self {
        Self { inner, wait, unsynced: Mutex::default() }
    }

    fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        // What has panicked is the file, whose store then fails.
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self, change: &Change<'_>) -> io::Result<()> {
        match *change {
            Change::SetLen(len) => self.inner.set_len(len),
            // Half of a write that found no room may have arrived; the same bytes are written over it.
            Change::Write(offset, data) => self.inner.write(offset, data),
        }
    }

    fn change(&self, change: &Change<'_>) -> io::Result<()> {
        let mut unsynced = self.unsynced();
        self.wait.change(|| self.make(change))?;
        unsynced.add(change);
        Ok(())
    }
}

impl<B: StorageBackend> StorageBackend for WaitingBackend<B> {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(&Change::SetLen(len))
    }

    // Some file systems find a place for the bytes only now. What a failed sync was to make sure may be dropped, and the
    // next sync would not say so: all of it is made again first. Where that is too much to keep, the store fails, and its
    // next start goes on from the last commit. So it does where the file has grown within a transaction: redb makes sure of
    // that while it holds what every read needs, and a wait there would hold up all readers.
    fn sync_data(&self) -> io::Result<()> {
        let mut unsynced = self.unsynced();
        if unsynced.is_complete() && !unsynced.ends_with_length() {
            let mut has_failed = false;
            self.wait.change(|| {
                if has_failed {
                    unsynced.repeat(|change| self.make(&change))?;
                }
                let synced = timed(|| self.inner.sync_data());
                has_failed |= synced.is_err();
                synced
            })?;
        } else {
            timed(|| self.inner.sync_data())?;
        }
        unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(&Change::Write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    locks_of!(inner);
}

/// Measures how long the disk takes to make sure of what was written.
fn timed(sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let began = Instant::now();
    let synced = sync();
    metrics::histogram!(metric::SYNC_SECONDS).record(began.elapsed().as_secs_f64());
    synced
}
