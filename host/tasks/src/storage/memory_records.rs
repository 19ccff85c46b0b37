//! Rows of operators' records in memory, for [`MemoryLedgerStorage`](crate::MemoryLedgerStorage).

use std::collections::BTreeMap;

use crate::records::record::{DeploymentRecord, PriceVersion};

/// The rows, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryRecords {
    pub(crate) price_books: BTreeMap<u64, PriceVersion>,
    pub(crate) deployments: BTreeMap<u64, DeploymentRecord>,
}

impl MemoryRecords {
    pub(crate) fn put_price_book(&mut self, book: &PriceVersion, below: u64) {
        self.price_books.insert(book.number, book.clone());
        self.price_books.retain(|number, _| *number >= below);
    }

    pub(crate) fn put_deployment(&mut self, row: &DeploymentRecord, below: u64) {
        self.deployments.insert(row.number, row.clone());
        self.deployments.retain(|number, _| *number >= below);
    }
}
