//! The schema of the file: made with a new file, and checked. Never opens a file of another schema, nor changes one.

use std::path::Path;

use redb::{Database, ReadTransaction, ReadableDatabase as _, TableError};

use crate::error::{OpenError, StoreError};
use crate::layout::{FIXED_TABLES, META, SCHEMA, SCHEMA_KEY};
use crate::table::definition;

/// The last schema whose tables had keys and rows of redb's types.
const TYPED: u64 = 5;

/// Makes every fixed table of a new file, so that reads find them.
pub(crate) fn prepare(database: &Database, path: &Path) -> Result<(), OpenError> {
    let found = || match of(&database.begin_read()?)? {
        0 => make(database),
        found => Ok(found),
    };
    judge(found(), path)
}

/// Whether this release reads the file. Changes nothing.
pub(crate) fn check(txn: &ReadTransaction, path: &Path) -> Result<(), OpenError> {
    judge(of(txn), path)
}

fn judge(found: Result<u64, StoreError>, path: &Path) -> Result<(), OpenError> {
    match found {
        Ok(SCHEMA) => Ok(()),
        Ok(found) if found > SCHEMA => Err(OpenError::Newer { found, supported: SCHEMA }),
        Ok(found) => Err(OpenError::Older { found, supported: SCHEMA }),
        Err(error) => Err(OpenError::Storage { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// The schema of the file; zero in a new one.
fn of(txn: &ReadTransaction) -> Result<u64, StoreError> {
    match META.open_if_any(txn) {
        Err(TableError::TableTypeMismatch { .. }) => Ok(TYPED),
        meta => Ok(meta?.map_or(Ok(None), |meta| meta.get(SCHEMA_KEY))?.unwrap_or(0)),
    }
}

/// Makes the present schema and its tables, in one transaction.
fn make(database: &Database) -> Result<u64, StoreError> {
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    for table in FIXED_TABLES {
        txn.open_table(definition(table))?;
    }
    META.open_to_write(&txn)?.insert(SCHEMA_KEY, &SCHEMA)?;
    txn.commit()?;
    Ok(SCHEMA)
}
