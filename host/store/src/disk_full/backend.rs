//! A backend whose changes wait for room. Everything else is the inner backend's.

use std::io;
use std::ops::Bound;
use std::sync::Arc;

use redb::{BackendError, StorageBackend};

use crate::disk_full::wait::DiskWait;

/// See [`DiskWait`].
#[derive(Debug)]
pub(crate) struct WaitingBackend<B> {
    inner: B,
    wait: Arc<DiskWait>,
}

impl<B> WaitingBackend<B> {
    pub(crate) fn new(inner: B, wait: Arc<DiskWait>) -> Self {
        Self { inner, wait }
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
        self.wait.change(|| self.inner.set_len(len))
    }

    // A failed sync may have dropped what it was to make sure, so it is never tried again.
    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    // Half of a write that found no room may have arrived; the same bytes are written over it.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.wait.change(|| self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
