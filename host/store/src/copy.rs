//! A copy of the whole file while it works: one snapshot, table by table, into a new file.
//!
//! The copy holds what was committed when it began. Memory stays bounded: rows are written in commits of their own, of which
//! the last alone is durable. A snapshot keeps old pages from being used again, so the file grows meanwhile by what is
//! written to it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use gatehouse_tasks::LedgerMark;
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase as _, ReadableTable as _,
    ReadableTableMetadata as _, TableHandle as _,
};

use crate::error::{OpenError, StoreError};
use crate::examine::{Progress, ledger_mark};
use crate::table::definition;

/// Rows in one commit of the copy.
const ROWS: usize = 10_000;
/// Memory for pages of the copy.
pub(crate) const CACHE: usize = 32 * 1024 * 1024;

/// What a copy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreCopy {
    /// Rows by table; tables without rows are left out.
    pub rows: BTreeMap<String, u64>,
    /// The ledger as of then.
    pub mark: LedgerMark,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store cannot be opened, or the place of the copy.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The copy cannot be written.
    #[error("the copy cannot be written: {0}")]
    Copy(String),
}

impl CopyError {
    fn copy(error: impl fmt::Display) -> Self {
        Self::Copy(error.to_string())
    }

    fn store(error: impl fmt::Display) -> Self {
        Self::Store(StoreError::failed(error))
    }
}

/// Copies what is committed into a new file at `path`, durably.
pub(crate) fn copy(database: &Database, path: &Path, progress: &Progress) -> Result<StoreCopy, CopyError> {
    let txn = &database.begin_read().map_err(CopyError::store)?;
    for table in txn.list_tables().map_err(CopyError::store)? {
        let table = txn.open_untyped_table(table).map_err(CopyError::store)?;
        progress.expect_rows(table.len().map_err(CopyError::store)?);
    }
    let database = Database::builder().set_cache_size(CACHE).create(path).map_err(CopyError::copy)?;
    let mut target = Target { database: &database, progress, rows: BTreeMap::new() };
    for table in txn.list_tables().map_err(CopyError::store)? {
        target.copy(txn, table.name())?;
    }
    let rows = target.rows;
    let last = database.begin_write().map_err(CopyError::copy)?;
    last.commit().map_err(CopyError::copy)?;
    Ok(StoreCopy { rows, mark: ledger_mark(txn)? })
}

struct Target<'a> {
    database: &'a Database,
    progress: &'a Progress,
    rows: BTreeMap<String, u64>,
}

impl Target<'_> {
    /// Copies a table, whatever its keys and rows are.
    fn copy(&mut self, txn: &ReadTransaction, name: &str) -> Result<(), CopyError> {
        let table = definition(name);
        let source = txn.open_table(table).map_err(CopyError::store)?;
        let mut rows = source.iter().map_err(CopyError::store)?;
        let mut copied = 0;
        loop {
            let mut write = self.database.begin_write().map_err(CopyError::copy)?;
            write.set_durability(Durability::None).map_err(CopyError::copy)?;
            let mut target = write.open_table(table).map_err(CopyError::copy)?;
            let mut more = 0;
            for row in rows.by_ref().take(ROWS) {
                let (key, value) = row.map_err(CopyError::store)?;
                target.insert(key.value(), value.value()).map_err(CopyError::copy)?;
                more += 1;
            }
            drop(target);
            write.commit().map_err(CopyError::copy)?;
            self.progress.check_rows(more as u64);
            copied += more as u64;
            if more < ROWS {
                break;
            }
        }
        if copied > 0 {
            self.rows.insert(name.to_owned(), copied);
        }
        Ok(())
    }
}
