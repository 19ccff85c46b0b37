//! Whether the pepper is the one that the rows of this file were made with.
//!
//! Digests of keys and secrets of webhooks are of no use under another pepper, and nothing but a refused key would tell. The
//! file holds a check value of its pepper from the first opening on; the pepper itself never comes here.

use redb::{Database, ReadTransaction, ReadableDatabase as _};

use crate::error::StoreError;
use crate::layout::{KEYS, META};

/// Where `META` holds it.
const CHECK: &str = "pepper-check";

/// What a file says of a pepper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PepperFit {
    /// It is the one of this file, or the first.
    Fits,
    /// The rows of this file were made with another one.
    Foreign,
}

/// Whether the rows of this file need the pepper they were made with.
pub(crate) fn needs_its_pepper(txn: &ReadTransaction) -> Result<bool, StoreError> {
    Ok(check_of(txn)?.is_some() || KEYS.len(txn)? > 0)
}

/// The check value that the file holds.
pub(crate) fn check_of(txn: &ReadTransaction) -> Result<Option<u64>, StoreError> {
    META.find(txn, CHECK)
}

/// Compares the check value of a pepper with the one of this file; a file without one takes it.
pub(crate) fn fit_pepper(database: &Database, check: u64) -> Result<PepperFit, StoreError> {
    match check_of(&database.begin_read()?)? {
        Some(known) if known == check => return Ok(PepperFit::Fits),
        Some(_) => return Ok(PepperFit::Foreign),
        None => {}
    }
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    META.open_to_write(&txn)?.insert(CHECK, &check)?;
    txn.commit()?;
    Ok(PepperFit::Fits)
}
