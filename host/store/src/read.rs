//! Reads. Each takes a snapshot of its own and lets it go soon: a snapshot held for long keeps old pages of the
//! file from being used again. Long lists are therefore read in pieces.
//!
//! Every read is a future. One of a few rows answers at once here, without a thread of its own: its rows are in memory, or a
//! page or two away. An engine behind a network answers later.

use std::ops::Bound;

use gatehouse_model::{
    Boxed, Claim, Customer, CustomerId, Digest, Key, KeyDigest, KeyId, Task, TaskId, UnixMs,
};
use gatehouse_tasks::{AdminIdempotencyRecord, ExpiredRows, IdempotencyRecord, KeyLineage, NameRecord};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTableMetadata as _};

use crate::error::StoreError;
use crate::expired::expired;
use crate::layout;
use crate::row::decode;
use crate::store::Store;
use crate::tables::{find, task_in};

/// A read of many rows, on a thread for such reads. Its code is compiled here, not in every crate that awaits it.
pub type LongRead<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// Rows read under one snapshot.
pub(crate) const PIECE: usize = 512;

impl Store {
    /// A task, live or ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn task(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.read(|txn| task_in(txn, id))
    }

    /// Live tasks by creation, some of those behind a task; none once there are no more. Tasks that come or go meanwhile may or
    /// may not be among them. Reads on a blocking thread.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn live_tasks(&self, after: Option<TaskId>) -> LongRead<'_, Vec<Task>> {
        self.long_read(move |txn| live_behind(txn, after))
    }

    /// The same on the thread of its caller.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn live_tasks_behind(&self, after: Option<TaskId>) -> Result<Vec<Task>, StoreError> {
        self.read(|txn| live_behind(txn, after))
    }

    /// A customer.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, StoreError> {
        self.read(|txn| find("accounts", &txn.open_table(layout::CUSTOMERS)?, id.0.as_str()))
    }

    /// How many customers there are. Reads no row.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count_customers(&self) -> Result<u64, StoreError> {
        self.read(|txn| Ok(txn.open_table(layout::CUSTOMERS)?.len()?))
    }

    /// Rows whose time is over at that moment: of each kind the oldest, at most so many. Reads on a blocking thread.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn expired(&self, now: UnixMs, limit: usize) -> LongRead<'_, ExpiredRows> {
        self.long_read(move |txn| expired(txn, now, limit))
    }

    /// A key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn key(&self, id: &KeyId) -> Result<Option<Key>, StoreError> {
        self.read(|txn| find("keys", &txn.open_table(layout::KEYS)?, id.0.as_str()))
    }

    /// The key of that digest.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn key_by_digest(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
        self.read(|txn| {
            let Some(id) = txn.open_table(layout::KEY_DIGESTS)?.get(digest.0.0)? else { return Ok(None) };
            find("keys", &txn.open_table(layout::KEYS)?, id.value())
        })
    }

    /// A key and those that replaced it, in one snapshot.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn key_lineage(&self, id: &KeyId) -> Result<Option<KeyLineage>, StoreError> {
        self.read(|txn| {
            let keys = txn.open_table(layout::KEYS)?;
            let row = |id: &KeyId| find("keys", &keys, id.0.as_str());
            row(id)?.map(|key| KeyLineage::read_with(key, row)).transpose()
        })
    }

    /// Those of the names that the customer owns, in the order asked. Any other is as unknown as one that was never
    /// claimed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn owned_names(
        &self,
        customer: &CustomerId,
        names: &[String],
    ) -> Result<Vec<Claim>, StoreError> {
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
    pub async fn idempotency_record(
        &self,
        key: &KeyId,
        token: &Digest,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        self.read(|txn| find("idempotency", &txn.open_table(layout::IDEMPOTENCY)?, (key.0.as_str(), token.0)))
    }

    /// What is remembered of a change that came with that token; it may have expired.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn admin_idempotency_record(
        &self,
        token: &Digest,
    ) -> Result<Option<AdminIdempotencyRecord>, StoreError> {
        self.read(|txn| find("admin-idempotency", &txn.open_table(layout::ADMIN_IDEMPOTENCY)?, token.0))
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

fn live_behind(txn: &ReadTransaction, after: Option<TaskId>) -> Result<Vec<Task>, StoreError> {
    let table = txn.open_table(layout::LIVE)?;
    let from = after.map_or(Bound::Unbounded, |task| Bound::Excluded(task.bits()));
    let rows = table.range((from, Bound::Unbounded))?.take(PIECE);
    rows.map(|row| decode("live", row?.1.value())).collect()
}
