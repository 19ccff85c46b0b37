//! Pages of customers, of keys and of the audit record.

use std::ops::Range;

use gatehouse_model::{Customer, CustomerId, Key, KeyId, UnixMs};
use gatehouse_tasks::AuditRecord;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

use super::length;
use crate::administration::{AuditQuery, KeyQuery, MAX_ROWS_READ, RowPage};
use crate::error::StoreError;
use crate::postgres::sql::{
    Value, column, count, decoded, each, first, limit, moment, number, query as ask, storable, text, value,
};
use crate::postgres::write::WITHOUT_CREDIT;

const ALL_CUSTOMERS: &str = "
    select row
    from customer
    where id > $1
    order by id
    limit $2";
const CUSTOMERS_WITHOUT_CREDIT: &str = "
    select row
    from customer
    where without_credit and id > $1
    order by id
    limit $2";
const ALL_KEYS: &str = "
    select row
    from api_key
    where id > $1
    order by id
    limit $2";
const KEYS_OF: &str = "
    select row
    from api_key
    where id > $1 and customer = $3
    order by id
    limit $2";
const LINES: &str = "
    select number, row
    from audit
    where number >= $1 and number < $2
    order by number desc
    limit $3";
/// The first number, the one behind the last, and those of the first lines that are not before two moments.
const SPAN: &str = "
    select
        coalesce((select min(number) from audit), 0),
        coalesce((select max(number) + 1 from audit), 0),
        (
            select number
            from audit
            where at >= to_timestamp($1 / 1000.0::float8)
            order by at, number
            limit 1
        ),
        (
            select number
            from audit
            where at >= to_timestamp($2 / 1000.0::float8)
            order by at, number
            limit 1
        )";
/// Rows that one statement answers.
const PIECE: usize = 250;

/// A page of customers by id, after the one of id `after`.
pub(crate) async fn list_customers(
    client: &impl GenericClient,
    after: Option<&CustomerId>,
    most: usize,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    customers(client, ALL_CUSTOMERS, after, most).await
}

/// A page of the customers that have no credit, by id.
pub(crate) async fn customers_without_credit(
    client: &impl GenericClient,
    after: Option<&CustomerId>,
    most: usize,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    customers(client, CUSTOMERS_WITHOUT_CREDIT, after, most).await
}

async fn customers(
    client: &impl GenericClient,
    sql: &str,
    after: Option<&CustomerId>,
    most: usize,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    // No id is empty.
    let values = vec![text(after.map_or("", |id| &id.0)), limit(most.saturating_add(1))];
    let rows: Vec<Customer> = each("customer", &ask(client, sql, values).await?)?;
    Ok(RowPage::cut(rows, most, |last| last.id.clone()))
}

/// How many customers have no credit.
pub(crate) async fn count_without_credit(client: &impl GenericClient) -> Result<u64, StoreError> {
    length(client, WITHOUT_CREDIT).await
}

/// A page of keys by id, after the one of id `after`.
pub(crate) async fn list_keys(
    client: &impl GenericClient,
    query: &KeyQuery,
    after: Option<&KeyId>,
    most: usize,
) -> Result<RowPage<Key, KeyId>, StoreError> {
    let sql = if query.customer.is_some() { KEYS_OF } else { ALL_KEYS };
    let values = |last: &Option<KeyId>| {
        let last = storable(last.as_ref().map_or("", |id| &id.0)).into_owned();
        let mut values = vec![value(last, Type::TEXT), limit(PIECE)];
        values.extend(query.customer.as_ref().map(|customer| text(&customer.0)));
        values
    };
    look_at(client, sql, PIECE, after.cloned(), most, values, |row| {
        let key: Key = decoded("api_key", row, 0)?;
        Ok((key.id.clone(), query.takes(&key).then_some(key)))
    })
    .await
}

/// Rows that `take` wants, of a bounded number that a statement answers piece by piece, each from the position where the one before
/// ended.
pub(super) async fn look_at<'v, P, T>(
    client: &impl GenericClient,
    sql: &str,
    piece: usize,
    from: Option<P>,
    most: usize,
    values: impl Fn(&Option<P>) -> Vec<Value<'v>>,
    take: impl Fn(&Row) -> Result<(P, Option<T>), StoreError>,
) -> Result<RowPage<T, P>, StoreError> {
    let mut page = RowPage { rows: Vec::new(), next: None };
    let (mut last, mut looked_at) = (from, 0);
    loop {
        let rows = ask(client, sql, values(&last)).await?;
        for row in &rows {
            if page.rows.len() == most || looked_at == MAX_ROWS_READ {
                page.next = last.filter(|_| looked_at > 0);
                return Ok(page);
            }
            looked_at += 1;
            let (position, row) = take(row)?;
            last = Some(position);
            page.rows.extend(row);
        }
        if rows.len() < piece {
            return Ok(page);
        }
    }
}

/// A page of the audit record, newest first: lines with their numbers, below the number `before`.
pub(crate) async fn list_audit(
    client: &impl GenericClient,
    query: &AuditQuery,
    before: Option<u64>,
    most: usize,
) -> Result<RowPage<(u64, AuditRecord), u64>, StoreError> {
    let span = span(client, query).await?;
    let end = before.map_or(span.end, |before| before.min(span.end));
    let values =
        |last: &Option<u64>| vec![number(span.start), number(last.unwrap_or(span.end)), limit(PIECE)];
    look_at(client, LINES, PIECE, Some(end), most, values, |line| {
        let (number, record) = (count(line, 0)?, decoded("audit", line, 1)?);
        Ok((number, query.takes(&record).then_some((number, record))))
    })
    .await
}

/// How many lines of the audit record lie in the range of time of `query`.
pub(crate) async fn audit_span(client: &impl GenericClient, query: &AuditQuery) -> Result<u64, StoreError> {
    let span = span(client, query).await?;
    Ok(span.end.saturating_sub(span.start))
}

/// The numbers of the lines in the range of time of a query. Lines are numbered without gaps, in the order of time.
async fn span(client: &impl GenericClient, query: &AuditQuery) -> Result<Range<u64>, StoreError> {
    let of = |at: Option<UnixMs>| moment(at.unwrap_or_default());
    let Some(row) = first(client, SPAN, vec![of(query.from), of(query.before)]).await? else {
        return Ok(0..0);
    };
    let (start, end) = (count(&row, 0)?, count(&row, 1)?);
    let at_least = |index| column::<Option<i64>>(&row, index)?.map_or(Ok(end), |_| count(&row, index));
    let from = query.from.map_or(Ok::<_, StoreError>(start), |_| at_least(2))?;
    Ok(from..query.before.map_or(Ok::<_, StoreError>(end), |_| at_least(3))?)
}
