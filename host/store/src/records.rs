//! What operators read of versions of the price book and of reports of deployments: a row by its number, or a page, newest first.

use gatehouse_model::{Digest, UnixMs};
use gatehouse_tasks::{DeploymentRecord, Examination, PriceVersion};
use redb::ReadTransaction;
use serde::de::DeserializeOwned;

use crate::administration::RowPage;
use crate::error::StoreError;
use crate::layout::{DEPLOYMENTS, PRICE_BOOKS};
use crate::table::Table;

/// A version of the price book without its prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceVersionSummary {
    /// Its number.
    pub number: u64,
    /// Since when it was in effect.
    pub at: UnixMs,
    /// Who caused the change.
    pub who: String,
    /// What caused it.
    pub cause: String,
    /// Of all prices.
    pub digest: Digest,
    /// How many prices it has.
    pub prices: u64,
    /// How many differ from the version before.
    pub changed: u64,
}

impl From<PriceVersion> for PriceVersionSummary {
    fn from(book: PriceVersion) -> Self {
        let PriceVersion { number, at, who, cause, digest, prices, left_out, changed, lists_all: _ } = book;
        let prices = u64::try_from(prices.len()).unwrap_or(u64::MAX).saturating_add(left_out);
        Self { number, at, who, cause, digest, prices, changed }
    }
}

/// A version of the price book.
pub(crate) fn price_book(txn: &ReadTransaction, number: u64) -> Result<Option<PriceVersion>, StoreError> {
    PRICE_BOOKS.find(txn, number)
}

/// A page of versions of the price book.
pub(crate) fn list_price_books(
    txn: &ReadTransaction,
    before: Option<u64>,
    limit: usize,
) -> Result<RowPage<PriceVersionSummary, u64>, StoreError> {
    page(txn, &PRICE_BOOKS, before, limit, |book: PriceVersion| Some(book.into()))
}

/// The report of a deployment.
pub(crate) fn deployment(txn: &ReadTransaction, number: u64) -> Result<Option<DeploymentRecord>, StoreError> {
    DEPLOYMENTS.find(txn, number)
}

/// A page of reports of deployments, of one family or of all.
pub(crate) fn list_deployments(
    txn: &ReadTransaction,
    family: Option<&String>,
    before: Option<u64>,
    limit: usize,
) -> Result<RowPage<DeploymentRecord, u64>, StoreError> {
    let take = |row: DeploymentRecord| family.is_none_or(|of| row.family == *of).then_some(row);
    page(txn, &DEPLOYMENTS, before, limit, take)
}

/// Feeds every row to the examination, in the order of numbers.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    for row in PRICE_BOOKS.open(txn)?.range(..)? {
        let (number, book) = row?.both()?;
        examination.price_book(number, book);
    }
    for row in DEPLOYMENTS.open(txn)?.range(..)? {
        let (number, report) = row?.both()?;
        examination.deployment(number, &report);
    }
    Ok(())
}

/// Rows that `take` wants, newest first. Reads a bounded number of them.
fn page<T: DeserializeOwned, R>(
    txn: &ReadTransaction,
    table: &Table<u64, T>,
    before: Option<u64>,
    limit: usize,
    take: impl Fn(T) -> Option<R>,
) -> Result<RowPage<R, u64>, StoreError> {
    let rows = table.open(txn)?;
    RowPage::of(rows.range(..before.unwrap_or(u64::MAX))?.rev(), limit, |row| {
        let (number, row) = row.both()?;
        Ok((number, take(row)))
    })
}
