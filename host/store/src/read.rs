//! Reads of a few rows of the file, each in a snapshot that the caller opens and lets go soon: one that is held for long keeps old
//! pages of the file from being used again. Long lists are therefore read in pieces.

use std::ops::Bound;

use gatehouse_model::{Claim, Customer, CustomerId, Digest, Key, KeyDigest, KeyId, RequestId, Task, TaskId};
use gatehouse_tasks::{AdminIdempotencyRecord, IdempotencyRecord, KeyLineage, StepRow};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{self, REQUEST_HOLDS};

/// Rows read under one snapshot.
pub(crate) const PIECE: usize = 512;

/// A task, live or ended.
pub(crate) fn task(txn: &ReadTransaction, id: TaskId) -> Result<Option<Task>, StoreError> {
    match layout::LIVE.find(txn, id.bits())? {
        Some(live) => Ok(Some(live)),
        None => layout::HISTORY.of(id.timestamp().day()).find(txn, id.bits()),
    }
}

/// Live tasks by creation, some of those behind a task.
pub(crate) fn live_tasks(txn: &ReadTransaction, after: Option<TaskId>) -> Result<Vec<Task>, StoreError> {
    let table = layout::LIVE.open(txn)?;
    let from = after.map_or(Bound::Unbounded, |task| Bound::Excluded(task.bits()));
    let rows = table.range((from, Bound::Unbounded))?.take(PIECE);
    rows.map(|row| row?.row()).collect()
}

/// The same, for callers with a thread of their own.
pub(crate) use self::live_tasks as live_tasks_behind;

/// The log of a task, oldest first.
pub(crate) fn steps(txn: &ReadTransaction, task: TaskId) -> Result<Vec<StepRow>, StoreError> {
    let Some(table) = layout::STEPS.of(task.timestamp().day()).open_if_any(txn)? else {
        return Ok(Vec::new());
    };
    let id = task.bits();
    let rows = table.range((id, 0)..=(id, u64::MAX))?.map(|row| row?.row());
    let mut rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    rows.sort_by_key(|row| row.revision);
    Ok(rows)
}

/// Requests whose holds are open, by creation.
pub(crate) fn open_requests(txn: &ReadTransaction) -> Result<Vec<RequestId>, StoreError> {
    let all = (REQUEST_HOLDS, 0)..=(REQUEST_HOLDS, u128::MAX);
    let holds = layout::HOLDS.open(txn)?;
    holds.keys(all)?.map(|id| Ok(RequestId::from_bits(id?.1))).collect()
}

/// A customer.
pub(crate) fn customer(txn: &ReadTransaction, id: &CustomerId) -> Result<Option<Customer>, StoreError> {
    layout::CUSTOMERS.find(txn, id.0.as_str())
}

/// How many customers there are.
pub(crate) fn count_customers(txn: &ReadTransaction) -> Result<u64, StoreError> {
    layout::CUSTOMERS.len(txn)
}

/// A key.
pub(crate) fn key(txn: &ReadTransaction, id: &KeyId) -> Result<Option<Key>, StoreError> {
    layout::KEYS.find(txn, id.0.as_str())
}

/// The key of that digest.
pub(crate) fn key_by_digest(txn: &ReadTransaction, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
    let id = layout::KEY_DIGESTS.find(txn, digest.0.0)?;
    id.map_or(Ok(None), |id| layout::KEYS.find(txn, &id))
}

/// A key and those that replaced it.
pub(crate) fn key_lineage(txn: &ReadTransaction, id: &KeyId) -> Result<Option<KeyLineage>, StoreError> {
    let keys = layout::KEYS.open(txn)?;
    let row = |id: &KeyId| keys.get(id.0.as_str());
    row(id)?.map(|key| KeyLineage::read_with(key, row)).transpose()
}

/// Those of the names that the customer owns, in the order asked.
pub(crate) fn owned_names(
    txn: &ReadTransaction,
    customer: &CustomerId,
    names: &[String],
) -> Result<Vec<Claim>, StoreError> {
    let table = layout::NAMES.open(txn)?;
    let record = |name: &str| table.get((&customer.0, name));
    let owned = names.iter().filter_map(|name| record(name).transpose());
    owned.map(|record| Ok(record?.claim)).collect()
}

/// What is remembered of a request that came with that key and token.
pub(crate) fn idempotency_record(
    txn: &ReadTransaction,
    key: &KeyId,
    token: &Digest,
) -> Result<Option<IdempotencyRecord>, StoreError> {
    layout::IDEMPOTENCY.find(txn, (key.0.as_str(), token.0))
}

/// What is remembered of a change that came with that token.
pub(crate) fn admin_idempotency_record(
    txn: &ReadTransaction,
    token: &Digest,
) -> Result<Option<AdminIdempotencyRecord>, StoreError> {
    layout::ADMIN_IDEMPOTENCY.find(txn, token.0)
}
