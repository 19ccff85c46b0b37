//! The tables of operators' idempotency keys: by token, and by expiry. The writer opens them only for such requests, so
//! that no other commit pays for them.

use gatehouse_model::Digest;
use gatehouse_tasks::AdminIdempotencyRecord;
use redb::WriteTransaction;

use crate::error::StoreError;
use crate::layout::{ADMIN_IDEMPOTENCY, ADMIN_IDEMPOTENCY_EXPIRY};
use crate::row::encode;
use crate::tables::find;

const ROWS: &str = "admin-idempotency";

/// The tables in one write transaction.
pub(crate) struct AdminIdempotencyTables<'txn>(&'txn WriteTransaction);

impl<'txn> AdminIdempotencyTables<'txn> {
    pub(crate) fn new(txn: &'txn WriteTransaction) -> Self {
        Self(txn)
    }

    /// Makes those that are missing.
    pub(crate) fn make(txn: &WriteTransaction) -> Result<(), StoreError> {
        txn.open_table(ADMIN_IDEMPOTENCY)?;
        txn.open_table(ADMIN_IDEMPOTENCY_EXPIRY)?;
        Ok(())
    }

    pub(crate) fn find(&self, token: &Digest) -> Result<Option<AdminIdempotencyRecord>, StoreError> {
        find(ROWS, &self.0.open_table(ADMIN_IDEMPOTENCY)?, token.0)
    }

    pub(crate) fn put(&mut self, record: &AdminIdempotencyRecord) -> Result<(), StoreError> {
        let row = encode(ROWS, record)?;
        self.0.open_table(ADMIN_IDEMPOTENCY)?.insert(record.token.0, row.as_slice())?;
        self.0.open_table(ADMIN_IDEMPOTENCY_EXPIRY)?.insert((record.expires.0, record.token.0), ())?;
        Ok(())
    }

    pub(crate) fn remove(&mut self, record: &AdminIdempotencyRecord) -> Result<(), StoreError> {
        self.0.open_table(ADMIN_IDEMPOTENCY)?.remove(record.token.0)?;
        self.0.open_table(ADMIN_IDEMPOTENCY_EXPIRY)?.remove((record.expires.0, record.token.0))?;
        Ok(())
    }
}
