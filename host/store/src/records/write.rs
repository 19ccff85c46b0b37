//! Their tables in a write transaction. They are opened only where a command needs them, so that no other commit pays
//! for them.

use gatehouse_tasks::{DeploymentRecord, PriceVersion};
use redb::{ReadableTable as _, TableDefinition, TableHandle as _, WriteTransaction};
use serde::Serialize;

use crate::error::StoreError;
use crate::layout::{DEPLOYMENTS, PRICE_BOOKS, Row};
use crate::row::{decode, encode};

/// The tables.
pub(crate) struct RecordTables<'txn> {
    txn: &'txn WriteTransaction,
}

type Numbered = TableDefinition<'static, u64, Row>;

impl<'txn> RecordTables<'txn> {
    pub(crate) fn new(txn: &'txn WriteTransaction) -> Self {
        Self { txn }
    }

    /// Makes those that are missing.
    pub(crate) fn make(txn: &WriteTransaction) -> Result<(), StoreError> {
        txn.open_table(PRICE_BOOKS)?;
        txn.open_table(DEPLOYMENTS)?;
        Ok(())
    }

    pub(crate) fn newest_price_book(&self) -> Result<Option<PriceVersion>, StoreError> {
        let table = self.txn.open_table(PRICE_BOOKS)?;
        let newest = table.last()?;
        newest.map(|(_, row)| decode(PRICE_BOOKS.name(), row.value())).transpose()
    }

    pub(crate) fn put_price_book(&self, book: &PriceVersion, below: u64) -> Result<(), StoreError> {
        self.put(PRICE_BOOKS, book.number, book, below)
    }

    pub(crate) fn newest_deployment(&self) -> Result<u64, StoreError> {
        let table = self.txn.open_table(DEPLOYMENTS)?;
        let newest = table.last()?;
        Ok(newest.map_or(0, |(number, _)| number.value()))
    }

    pub(crate) fn put_deployment(&self, row: &DeploymentRecord, below: u64) -> Result<(), StoreError> {
        self.put(DEPLOYMENTS, row.number, row, below)
    }

    /// Rows are numbered without gaps and one is added at a time, so one is forgotten, or none.
    fn put(&self, table: Numbered, number: u64, row: &impl Serialize, below: u64) -> Result<(), StoreError> {
        let bytes = encode(table.name(), row)?;
        let mut table = self.txn.open_table(table)?;
        table.insert(number, bytes.as_slice())?;
        table.retain_in(..below, |_, _| false)?;
        Ok(())
    }
}
