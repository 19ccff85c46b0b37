//! Reads of a few rows by their keys.

use std::collections::HashMap;

use gatehouse_model::{Claim, Customer, CustomerId, Digest, Key, KeyDigest, KeyId, RequestId, Task, TaskId};
use gatehouse_tasks::{AdminIdempotencyRecord, IdempotencyRecord, KeyLineage, NameRecord, RowKey, StepRow};
use tokio_postgres::GenericClient;

use super::length;
use crate::error::StoreError;
use crate::postgres::sql::{bytes, decoded, each, first, id, limit, query, text, texts, uuid};
use crate::postgres::stored::find;
use crate::postgres::write::CUSTOMERS;
use crate::read::PIECE;

const LIVE_TASKS: &str = "
    select row
    from task
    where live and id > $1
    order by id
    limit $2";
const STEPS: &str = "select row from step where task = $1";
const OPEN_REQUESTS: &str = "select id from hold where not of_task order by id";
const KEY_BY_DIGEST: &str = "select row from api_key where digest = $1";
/// A key and those that replaced it.
const LINEAGE: &str = "
    with recursive lineage (place, rotated_to, row) as (
        select 0, rotated_to, row
        from api_key
        where id = $1
        union all
        select lineage.place + 1, later.rotated_to, later.row
        from lineage
        join api_key later on later.id = lineage.rotated_to
    )
    select row
    from lineage
    order by place";
const OWNED_NAMES: &str = "select row from name where name = any($1) and customer = $2";

/// A task, live or ended.
pub(crate) async fn task(client: &impl GenericClient, id: TaskId) -> Result<Option<Task>, StoreError> {
    find(client, &RowKey::Task(id)).await
}

/// Live tasks by creation, some of those behind a task.
pub(crate) async fn live_tasks(
    client: &impl GenericClient,
    after: Option<TaskId>,
) -> Result<Vec<Task>, StoreError> {
    // No id is zero.
    let values = vec![uuid(after.map_or(0, TaskId::bits)), limit(PIECE)];
    each("task", &query(client, LIVE_TASKS, values).await?)
}

/// The log of a task, oldest first.
pub(crate) async fn steps(client: &impl GenericClient, task: TaskId) -> Result<Vec<StepRow>, StoreError> {
    let mut rows: Vec<StepRow> = each("step", &query(client, STEPS, vec![uuid(task.bits())]).await?)?;
    rows.sort_by_key(|row| row.revision);
    Ok(rows)
}

/// Requests whose holds are open, by creation.
pub(crate) async fn open_requests(client: &impl GenericClient) -> Result<Vec<RequestId>, StoreError> {
    let rows = query(client, OPEN_REQUESTS, vec![]).await?;
    rows.iter().map(|row| Ok(RequestId::from_bits(id(row, 0)?))).collect()
}

/// A customer.
pub(crate) async fn customer(
    client: &impl GenericClient,
    id: &CustomerId,
) -> Result<Option<Customer>, StoreError> {
    find(client, &RowKey::Customer(id.clone())).await
}

/// How many customers there are.
pub(crate) async fn count_customers(client: &impl GenericClient) -> Result<u64, StoreError> {
    length(client, CUSTOMERS).await
}

/// A key.
pub(crate) async fn key(client: &impl GenericClient, id: &KeyId) -> Result<Option<Key>, StoreError> {
    find(client, &RowKey::Key(id.clone())).await
}

/// The key of that digest.
pub(crate) async fn key_by_digest(
    client: &impl GenericClient,
    digest: &KeyDigest,
) -> Result<Option<Key>, StoreError> {
    let row = first(client, KEY_BY_DIGEST, vec![bytes(&digest.0.0)]).await?;
    row.map(|row| decoded("api_key", &row, 0)).transpose()
}

/// A key and those that replaced it.
pub(crate) async fn key_lineage(
    client: &impl GenericClient,
    id: &KeyId,
) -> Result<Option<KeyLineage>, StoreError> {
    let rows: Vec<Key> = each("api_key", &query(client, LINEAGE, vec![text(&id.0)]).await?)?;
    let rows: HashMap<KeyId, Key> = rows.into_iter().map(|key| (key.id.clone(), key)).collect();
    let lineage = |key: &Key| KeyLineage::read_with(key.clone(), |id| Ok(rows.get(id).cloned()));
    rows.get(id).map(lineage).transpose()
}

/// Those of the names that the customer owns, in the order asked.
pub(crate) async fn owned_names(
    client: &impl GenericClient,
    customer: &CustomerId,
    names: &[String],
) -> Result<Vec<Claim>, StoreError> {
    let values = vec![texts(names.iter().map(String::as_str)), text(&customer.0)];
    let rows: Vec<NameRecord> = each("name", &query(client, OWNED_NAMES, values).await?)?;
    let owned: HashMap<_, _> = rows.into_iter().map(|row| (row.claim.name.clone(), row.claim)).collect();
    Ok(names.iter().filter_map(|name| owned.get(name).cloned()).collect())
}

/// What is remembered of a request that came with that key and token; it may have expired.
pub(crate) async fn idempotency_record(
    client: &impl GenericClient,
    key: &KeyId,
    token: &Digest,
) -> Result<Option<IdempotencyRecord>, StoreError> {
    find(client, &RowKey::Idempotency(key.clone(), *token)).await
}

/// What is remembered of a change that came with that token; it may have expired.
pub(crate) async fn admin_idempotency_record(
    client: &impl GenericClient,
    token: &Digest,
) -> Result<Option<AdminIdempotencyRecord>, StoreError> {
    find(client, &RowKey::AdminIdempotency(*token)).await
}
