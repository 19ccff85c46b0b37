//! Typed rows of tables: one by its key, or each of them.

use gatehouse_model::{Task, TaskId};
use redb::{Key as RedbKey, ReadTransaction, ReadableTable, TableDefinition, TableError, TableHandle};
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::layout::{self, Day, Row};
use crate::row::decode;

/// The row of that key.
pub(crate) fn find<'key, K: RedbKey + 'static, T: DeserializeOwned>(
    name: &str,
    table: &impl ReadableTable<K, Row>,
    key: K::SelfType<'key>,
) -> Result<Option<T>, StoreError> {
    table.get(key)?.map(|row| decode(name, row.value())).transpose()
}

/// A task, live or ended.
pub(crate) fn task_in(txn: &ReadTransaction, id: TaskId) -> Result<Option<Task>, StoreError> {
    if let Some(live) = find("live", &txn.open_table(layout::LIVE)?, id.bits())? {
        return Ok(Some(live));
    }
    match txn.open_table(Day::new(id.timestamp().day()).history()) {
        Ok(history) => find("history", &history, id.bits()),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Visits all rows of a table.
pub(crate) fn each<K: RedbKey + 'static, T: DeserializeOwned>(
    txn: &ReadTransaction,
    table: TableDefinition<'_, K, Row>,
    mut visit: impl FnMut(T) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let name = table.name().to_owned();
    for row in txn.open_table(table)?.iter()? {
        visit(decode(&name, row?.1.value())?)?;
    }
    Ok(())
}
