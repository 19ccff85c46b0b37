//! The schema of the file: made, checked, and brought up to date, with the fixed tables that an older file lacks.
//!
//! Each step from one schema to the next is one transaction: after a crash in the middle it is done again. Never opens
//! a file of a later schema.

use std::collections::BTreeSet;
use std::path::Path;

use redb::{Database, ReadableTable, TableHandle, WriteTransaction};

use crate::administration::idempotency::AdminIdempotencyTables;
use crate::administration::without_credit;
use crate::error::{OpenError, StoreError};
use crate::layout::{self, ADDED, META, SCHEMA, SCHEMA_KEY};
use crate::listing::task_index;
use crate::open::derived;
use crate::records::write::RecordTables;
use crate::responses::ResponseTables;
use crate::statement::deposits;
use crate::transaction::batch::Batch;
use crate::webhooks::write::WebhookTables;

/// Makes every fixed table of a new file, so that reads find them; brings an older file to the present schema.
pub(crate) fn prepare(database: &Database, path: &Path) -> Result<(), OpenError> {
    match update(database) {
        Ok(found) if found > SCHEMA => Err(OpenError::Newer { found, supported: SCHEMA }),
        Ok(_) => Ok(()),
        Err(error) => Err(OpenError::Storage { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// The schema the file had, or the present one if it was new.
fn update(database: &Database) -> Result<u64, StoreError> {
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    let found = txn.open_table(META)?.get(SCHEMA_KEY)?.map(|schema| schema.value());
    match found {
        Some(1) => {
            drop_owners(&txn)?;
            index(&txn)?;
            list(&txn)?;
        }
        Some(2) => {
            index(&txn)?;
            list(&txn)?;
        }
        Some(3) => list(&txn)?,
        Some(found) if found > SCHEMA || has_added_tables(&txn)? => return Ok(found),
        None | Some(_) => {}
    }
    // Makes the fixed tables that are missing.
    drop(Batch::open(&txn)?);
    ResponseTables::make(&txn)?;
    txn.open_table(layout::USAGE_DAYS)?;
    txn.open_table(layout::LEDGER_INDEX)?;
    txn.open_table(layout::WITHOUT_CREDIT)?;
    txn.open_table(layout::DEPOSIT_DAYS)?;
    AdminIdempotencyTables::make(&txn)?;
    WebhookTables::make(&txn)?;
    RecordTables::make(&txn)?;
    txn.open_table(META)?.insert(SCHEMA_KEY, SCHEMA)?;
    txn.commit()?;
    Ok(found.unwrap_or(SCHEMA))
}

fn has_added_tables(txn: &WriteTransaction) -> Result<bool, StoreError> {
    let present: BTreeSet<String> = txn.list_tables()?.map(|table| table.name().to_owned()).collect();
    Ok(ADDED.iter().all(|table| present.contains(*table)))
}

/// Schema 1 had them instead of an index.
fn drop_owners(txn: &WriteTransaction) -> Result<(), StoreError> {
    let owners: Vec<_> = txn.list_tables()?.filter(layout::is_owners).collect();
    for table in owners {
        txn.delete_table(table)?;
    }
    Ok(())
}

/// Schema 3: the whole index of tasks, the index of the ledger, and the sums of usage.
fn index(txn: &WriteTransaction) -> Result<(), StoreError> {
    let tasks = task_index::build(txn)?;
    let entries = derived::fill(txn)?;
    tracing::info!(
        tasks,
        entries,
        "the store was made by an earlier release; its tasks and its ledger now have an index"
    );
    Ok(())
}

/// Schema 4: the lists of what needs a person, and deposits by day. Kept from then on with each row that is written.
fn list(txn: &WriteTransaction) -> Result<(), StoreError> {
    WebhookTables::list_troubled(txn)?;
    without_credit::fill(txn)?;
    deposits::fill(txn)
}
