//! The database as readers have it: their connections, and a runtime for those of them that block their thread.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio::task::AbortHandle;
use tokio_postgres::{IsolationLevel, Transaction};

use super::connect::Server;
use super::failure::store_error;
use super::pool::{Reader, Readers};
use crate::error::{OpenError, StoreError};

/// What all reads of a store share.
pub(crate) struct Reading {
    readers: Readers,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    /// What runs beside the reads.
    begun: Mutex<Option<AbortHandle>>,
}

impl Reading {
    /// Without a connection yet.
    ///
    /// # Errors
    /// [`OpenError::Thread`].
    pub(crate) fn new(server: Server) -> Result<Self, OpenError> {
        let mut runtime = runtime::Builder::new_multi_thread();
        runtime.worker_threads(1).thread_name("store-reader").enable_all();
        let runtime = runtime.build().map_err(OpenError::Thread)?;
        Ok(Self { readers: Readers::new(server), runtime: Some(runtime), begun: Mutex::default() })
    }

    /// A connection, for one statement or more.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub(crate) async fn reader(&self) -> Result<Reader, StoreError> {
        self.readers.get().await
    }

    /// Ends with a future, whatever thread this is.
    ///
    /// # Errors
    /// The future's.
    pub(crate) fn wait_for<T: Send>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let Some(runtime) = &self.runtime else { return Err(StoreError::Closed) };
        // On a thread of its own: the caller's may be one of another runtime, which must not block on this one.
        let outcome = thread::scope(|scope| scope.spawn(|| runtime.block_on(work)).join());
        outcome.unwrap_or_else(|_| Err(StoreError::failed("a read panicked")))
    }

    /// Does something beside the reads until the store closes.
    pub(crate) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            let begun = runtime.spawn(work).abort_handle();
            *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        }
    }

    /// Nobody reads any more.
    pub(crate) fn close(&self) {
        self.readers.close();
        if let Some(begun) = &*self.begun.lock().unwrap_or_else(PoisonError::into_inner) {
            begun.abort();
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A future may drop it, which must not wait for threads.
            runtime.shutdown_background();
        }
    }
}

/// How long a read of a few rows waits for its answer. A server, or a proxy before it, that takes what it is sent and says nothing is not
/// noticed by the connection for long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends with a read of a few rows, or without it where the server says nothing.
///
/// # Errors
/// The read's; [`StoreError::Unavailable`].
pub(crate) async fn within<T>(read: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    tokio::time::timeout(PATIENCE, read).await.unwrap_or(Err(StoreError::Unavailable))
}

/// One snapshot for several statements.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn snapshot(reader: &mut Reader) -> Result<Transaction<'_>, StoreError> {
    let begin = reader.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    begin.start().await.map_err(|error| store_error("a snapshot", &error))
}
