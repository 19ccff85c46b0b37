//! Versions of the price book and reports of deployments: one by its number, or a page, newest first.

use gatehouse_tasks::{DeploymentRecord, PriceVersion, RowKey};
use serde::de::DeserializeOwned;
use tokio_postgres::GenericClient;

use super::pages::look_at;
use crate::administration::RowPage;
use crate::error::StoreError;
use crate::postgres::sql::{count, decoded, limit, number};
use crate::postgres::stored::find;
use crate::records::PriceVersionSummary;

const PRICE_BOOKS: &str = "
    select row, number
    from price_book
    where number < $1
    order by number desc
    limit $2";
const DEPLOYMENTS: &str = "
    select row, number
    from deployment
    where number < $1
    order by number desc
    limit $2";
/// Rows that one statement answers: those of the price book are large.
const PIECE: usize = 50;

/// A version of the price book.
pub(crate) async fn price_book(
    client: &impl GenericClient,
    of: u64,
) -> Result<Option<PriceVersion>, StoreError> {
    find(client, &RowKey::PriceBook(of)).await
}

/// A page of versions of the price book, newest first.
pub(crate) async fn list_price_books(
    client: &impl GenericClient,
    before: Option<u64>,
    most: usize,
) -> Result<RowPage<PriceVersionSummary, u64>, StoreError> {
    let take = |book: PriceVersion| Some(PriceVersionSummary::from(book));
    page(client, "price_book", PRICE_BOOKS, before, most, take).await
}

/// The report of a deployment.
pub(crate) async fn deployment(
    client: &impl GenericClient,
    of: u64,
) -> Result<Option<DeploymentRecord>, StoreError> {
    find(client, &RowKey::Deployment(of)).await
}

/// A page of reports of deployments, of one family or of all, newest first.
pub(crate) async fn list_deployments(
    client: &impl GenericClient,
    family: Option<&String>,
    before: Option<u64>,
    most: usize,
) -> Result<RowPage<DeploymentRecord, u64>, StoreError> {
    let take = |row: DeploymentRecord| family.is_none_or(|of| row.family == *of).then_some(row);
    page(client, "deployment", DEPLOYMENTS, before, most, take).await
}

/// Rows that `take` wants, newest first, of a bounded number that is looked at.
async fn page<T: DeserializeOwned, R>(
    client: &impl GenericClient,
    table: &str,
    sql: &str,
    before: Option<u64>,
    most: usize,
    take: impl Fn(T) -> Option<R>,
) -> Result<RowPage<R, u64>, StoreError> {
    let values = |last: &Option<u64>| vec![number(last.unwrap_or(u64::MAX)), limit(PIECE)];
    look_at(client, sql, PIECE, before, most, values, |row| {
        Ok((count(row, 1)?, take(decoded(table, row, 0)?)))
    })
    .await
}
