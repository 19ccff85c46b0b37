//! Connections for readers: made when they are needed, kept while they work.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::Client;

use super::connect::Server;
use crate::error::StoreError;

/// Connections at once. A server has some hundred for all its clients, and each is a process there.
const MOST: usize = 8;
/// A reader without a connection by then is refused: its caller has a client that waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connections of all readers. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: Server,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Client>>,
}

/// A connection of one reader, until it is kept or dropped.
pub(crate) struct Reader {
    /// `None` only once it is kept.
    client: Option<Client>,
    was_idle: bool,
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    /// None yet.
    pub(crate) fn new(server: Server) -> Self {
        let permits = Arc::new(Semaphore::new(MOST));
        Self { shared: Arc::new(Shared { server, permits, idle: Mutex::default() }) }
    }

    /// One that works as far as is known.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: the server cannot be reached, or all connections are in use for long.
    pub(crate) async fn get(&self) -> Result<Reader, StoreError> {
        let shared = Arc::clone(&self.shared);
        let connected = async move {
            let permit = shared.permits.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
            let idle = shared.take();
            let was_idle = idle.is_some();
            let client = match idle {
                Some(client) => client,
                None => shared.server.connect_reader().await?.client,
            };
            Ok(Reader { client: Some(client), was_idle, shared, _permit: permit })
        };
        tokio::time::timeout(PATIENCE, connected).await.unwrap_or(Err(StoreError::Unavailable))
    }

    /// Nobody gets one any more; those in use end with their readers.
    pub(crate) fn close(&self) {
        self.shared.permits.close();
        self.shared.idle().clear();
    }
}

impl Shared {
    /// The one that was used last: the others may be of before a failover.
    fn take(&self) -> Option<Client> {
        let mut idle = self.idle();
        idle.retain(|client| !client.is_closed());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Reader {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.as_ref().expect("a reader has its connection until it is kept")
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Client {
        self.client.as_mut().expect("a reader has its connection until it is kept")
    }
}

impl Reader {
    /// Whether it is not a new one.
    pub(crate) fn was_idle(&self) -> bool {
        self.was_idle
    }

    /// Gives the connection to the next reader. One that is dropped instead may still be at work for a reader that went away, and is
    /// ended.
    pub(crate) fn keep(mut self) {
        if let Some(client) = self.client.take().filter(|client| !client.is_closed())
            && !self.shared.permits.is_closed()
        {
            self.shared.idle().push(client);
        }
    }
}
