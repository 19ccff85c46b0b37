//! The schema of a database: numbered steps, each applied once. An empty database gets them all when it is opened, a database of a
//! release before waits for `gatehouse store migrate`, one of a later release is refused.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Transaction};

use super::failure::{describe, passes};
use super::fleet;
use crate::error::OpenError;

/// In order. A step that was released is never changed.
const STEPS: [&str; 3] =
    [include_str!("schema/0001.sql"), include_str!("schema/0002.sql"), include_str!("schema/0003.sql")];
/// The schema of this release.
const SCHEMA: u64 = STEPS.len() as u64;
/// Held while a schema is looked at or changed, so that two gateways do not make one database at the same time.
const LOCK: &str = "select pg_advisory_xact_lock(7166120831)";
const IS_NEW: &str = "select to_regclass('meta') is null";
const FIND: &str = "select value from meta where key = 'schema'";
const KEEP: &str = "
    insert into meta (key, value)
    values ('schema', $1)
    on conflict (key) do update set value = excluded.value";

/// Makes an empty database what this release works with, and refuses any other that is not.
///
/// # Errors
/// [`OpenError::Newer`], [`OpenError::Migrate`], or the database's.
pub(crate) async fn prepare(client: &mut Client) -> Result<(), OpenError> {
    let txn = locked(client).await.map_err(broken)?;
    match found(txn.client()).await.map_err(broken)? {
        0 => apply(txn, 0).await.map(drop),
        SCHEMA => Ok(()),
        found if found > SCHEMA => Err(OpenError::Newer { found, supported: SCHEMA }),
        found => Err(OpenError::Migrate { found, supported: SCHEMA }),
    }
}

/// Brings the database to the schema of this release: all or nothing. The numbers of the steps that were applied.
///
/// # Errors
/// [`OpenError::Newer`], or the database's.
pub(crate) async fn migrate(client: &mut Client) -> Result<Vec<u32>, OpenError> {
    let txn = locked(client).await.map_err(broken)?;
    match found(txn.client()).await.map_err(broken)? {
        found if found > SCHEMA => Err(OpenError::Newer { found, supported: SCHEMA }),
        found => apply(txn, found).await,
    }
}

/// The error of a statement: where it misses a table or a column of this release, the database is of one before.
pub(super) async fn explain(client: &Client, error: &Error) -> OpenError {
    let missing = [&SqlState::UNDEFINED_TABLE, &SqlState::UNDEFINED_COLUMN];
    if error.code().is_some_and(|code| missing.contains(&code))
        && let Ok(found @ 1..SCHEMA) = found(client).await
    {
        return OpenError::Migrate { found, supported: SCHEMA };
    }
    fleet::broken(error)
}

async fn locked(client: &mut Client) -> Result<Transaction<'_>, Error> {
    let txn = client.transaction().await?;
    txn.batch_execute(LOCK).await?;
    Ok(txn)
}

/// The number of the last step that was applied.
async fn found(client: &Client) -> Result<u64, Error> {
    if client.query_typed_one(IS_NEW, &[]).await?.try_get(0)? {
        return Ok(0);
    }
    let row = client.query_typed_opt(FIND, &[]).await?;
    let schema: i64 = row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(schema).unwrap_or_default())
}

/// Applies the steps behind `found`.
async fn apply(txn: Transaction<'_>, found: u64) -> Result<Vec<u32>, OpenError> {
    let mut applied = Vec::new();
    for (number, step) in (1..).zip(STEPS).skip_while(|(number, _)| u64::from(*number) <= found) {
        txn.batch_execute(step).await.map_err(|error| OpenError::Database {
            reason: format!("step {number} of the schema: {}", describe(&error)),
            passes: passes(&error),
        })?;
        applied.push(number);
    }
    if !applied.is_empty() {
        txn.execute_typed(KEEP, &[(&SCHEMA.cast_signed(), Type::INT8)]).await.map_err(broken)?;
        txn.commit().await.map_err(broken)?;
    }
    Ok(applied)
}

fn broken(error: Error) -> OpenError {
    OpenError::Database { reason: format!("its schema: {}", describe(&error)), passes: passes(&error) }
}
