//! Reads. Each takes a snapshot of its own and lets it go soon: a snapshot held for long keeps old pages of the
//! file from being used again. Long lists are therefore read in pieces.

use std::collections::VecDeque;

use gatehouse_model::{
    Boxed, Claim, Customer, CustomerId, Digest, Key, KeyDigest, KeyId, Task, TaskId, UnixMs,
};
use gatehouse_tasks::{ExpiredRows, IdempotencyRecord, NameRecord};
use redb::{Database, ReadTransaction, ReadableDatabase};

use crate::error::StoreError;
use crate::expired::expired;
use crate::layout;
use crate::row::decode;
use crate::store::Store;
use crate::tables::{find, rows, task_in};

/// A read of many rows, on a thread for such reads. Its code is compiled here, not in every crate that awaits it.
pub type LongRead<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// Rows read under one snapshot.
const PIECE: usize = 512;

impl Store {
    /// A task, live or ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn task(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.read(|txn| task_in(txn, id))
    }

    /// Every live task, by creation. Tasks that come or go meanwhile may or may not be among them.
    #[must_use]
    pub fn live_tasks(&self) -> LiveTasks {
        LiveTasks { store: self.clone(), next: Some(0), ready: VecDeque::new() }
    }

    /// A customer.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, StoreError> {
        self.read(|txn| find("accounts", &txn.open_table(layout::CUSTOMERS)?, id.0.as_str()))
    }

    /// All customers, by id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn customers(&self) -> Result<Vec<Customer>, StoreError> {
        self.read(|txn| rows(txn, layout::CUSTOMERS))
    }

    /// Rows whose time is over at that moment: of each kind the oldest, at most so many. Reads on a blocking thread.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn expired(&self, now: UnixMs, limit: usize) -> LongRead<'_, ExpiredRows> {
        let store = self.clone();
        self.off_worker(move || store.read(|txn| expired(txn, now, limit)))
    }

    /// A key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn key(&self, id: &KeyId) -> Result<Option<Key>, StoreError> {
        self.read(|txn| find("keys", &txn.open_table(layout::KEYS)?, id.0.as_str()))
    }

    /// The key of that digest.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn key_by_digest(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
        self.read(|txn| {
            let Some(id) = txn.open_table(layout::KEY_DIGESTS)?.get(digest.0.0)? else { return Ok(None) };
            find("keys", &txn.open_table(layout::KEYS)?, id.value())
        })
    }

    /// All keys, by id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keys(&self) -> Result<Vec<Key>, StoreError> {
        self.read(|txn| rows(txn, layout::KEYS))
    }

    /// Those of the names that the customer owns, in the order asked. Any other is as unknown as one that was never
    /// claimed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn owned_names(&self, customer: &CustomerId, names: &[String]) -> Result<Vec<Claim>, StoreError> {
        self.read(|txn| {
            let table = txn.open_table(layout::NAMES)?;
            let record = |name: &str| find::<_, NameRecord>("names", &table, (customer.0.as_str(), name));
            let owned = names.iter().filter_map(|name| record(name).transpose());
            owned.map(|record| Ok(record?.claim)).collect()
        })
    }

    /// What is remembered of a request that came with that key and token; it may have expired.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn idempotency_record(
        &self,
        key: &KeyId,
        token: &Digest,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        self.read(|txn| find("idempotency", &txn.open_table(layout::IDEMPOTENCY)?, (key.0.as_str(), token.0)))
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database()?;
        let read = |database: &Database| work(&database.begin_read()?);
        self.notice(read(&database))
    }
}

/// Every live task, read in pieces. See [`Store::live_tasks`].
pub struct LiveTasks {
    store: Store,
    /// Where the next piece begins; none once all were read.
    next: Option<u128>,
    ready: VecDeque<Task>,
}

impl Iterator for LiveTasks {
    type Item = Result<Task, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty()
            && let Some(start) = self.next
        {
            let piece = self.store.read(|txn| {
                let table = txn.open_table(layout::LIVE)?;
                table.range(start..)?.take(PIECE).map(|row| decode("live", row?.1.value())).collect()
            });
            match piece {
                Ok(tasks) => self.ready = tasks,
                Err(error) => {
                    // The same piece is read again where that may help.
                    self.next = self.next.filter(|_| error.passes());
                    return Some(Err(error));
                }
            }
            self.next = self.ready.back().and_then(|task: &Task| task.id.bits().checked_add(1));
        }
        self.ready.pop_front().map(Ok)
    }
}
