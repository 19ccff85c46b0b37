//! The schema of the file: made with a new file, and checked. Never opens a file of another schema, nor changes one.

use std::path::Path;

use redb::{Database, ReadTransaction, ReadableTable};

use crate::error::{OpenError, StoreError};
use crate::layout::{self, META, SCHEMA, SCHEMA_KEY, with_fixed_tables};

/// Makes every fixed table of a new file, so that reads find them.
pub(crate) fn prepare(database: &Database, path: &Path) -> Result<(), OpenError> {
    judge(schema(database), path)
}

/// Whether this release reads the file. Changes nothing.
pub(crate) fn check(txn: &ReadTransaction, path: &Path) -> Result<(), OpenError> {
    let found = || Ok(txn.open_table(META)?.get(SCHEMA_KEY)?.map_or(0, |found| found.value()));
    judge(found(), path)
}

fn judge(found: Result<u64, StoreError>, path: &Path) -> Result<(), OpenError> {
    match found {
        Ok(SCHEMA) => Ok(()),
        Ok(found) if found > SCHEMA => Err(OpenError::Newer { found, supported: SCHEMA }),
        Ok(found) => Err(OpenError::Older { found, supported: SCHEMA }),
        Err(error) => Err(OpenError::Storage { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// The schema of the file. A new one gets the present schema and its tables in one transaction.
fn schema(database: &Database) -> Result<u64, StoreError> {
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    if let Some(found) = txn.open_table(META)?.get(SCHEMA_KEY)? {
        return Ok(found.value());
    }
    macro_rules! make {
        ($($table:ident),+) => { $(txn.open_table(layout::$table)?;)+ };
    }
    with_fixed_tables!(make);
    txn.open_table(META)?.insert(SCHEMA_KEY, SCHEMA)?;
    txn.commit()?;
    Ok(SCHEMA)
}
