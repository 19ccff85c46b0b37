//! Statements and their values, and columns of what they answer. A statement is sent with the types of its values, so it takes one
//! trip and nothing has to be prepared.

use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use gatehouse_model::UnixMs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Error, GenericClient, Row, Transaction};
use uuid::Uuid;

use super::failure::store_error;
use crate::error::StoreError;
use crate::row::{decode, encode};

/// PostgreSQL's times end a little later.
const LAST_MOMENT: u64 = 9_000_000_000_000_000;

/// A value of a statement.
pub(super) type Value<'a> = (Box<dyn ToSql + Sync + Send + 'a>, Type);

/// A statement that answers no rows.
pub(super) struct Statement<'a> {
    sql: &'static str,
    values: Vec<Value<'a>>,
}

impl<'a> Statement<'a> {
    pub(super) fn new(sql: &'static str, values: Vec<Value<'a>>) -> Self {
        Self { sql, values }
    }

    pub(super) async fn execute(&self, client: &Client) -> Result<(), Error> {
        client.execute_typed(self.sql, &borrowed(&self.values)).await.map(drop)
    }
}

pub(super) fn borrowed<'v>(values: &'v [Value<'_>]) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
    values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
}

/// The rows that a statement answers.
pub(super) async fn query(
    client: &impl GenericClient,
    sql: &str,
    values: Vec<Value<'_>>,
) -> Result<Vec<Row>, StoreError> {
    let answer = client.query_typed(sql, &borrowed(&values)).await;
    answer.map_err(|error| store_error("reading from the database", &error))
}

/// The first row, of a statement that answers one at most.
pub(super) async fn first(
    client: &impl GenericClient,
    sql: &str,
    values: Vec<Value<'_>>,
) -> Result<Option<Row>, StoreError> {
    Ok(query(client, sql, values).await?.into_iter().next())
}

/// For a transaction that goes over everything: it takes as long as it takes, and waits while its rows are looked at.
pub(super) const PATIENTLY: &str = "
    set local statement_timeout = 0;
    set local idle_in_transaction_session_timeout = 0";
/// Rows that are here at once: some may have MiB.
const PIECE: i32 = 32;

/// Visits every row that a statement answers, however many there are.
pub(super) async fn walk(
    txn: &Transaction<'_>,
    sql: &str,
    mut visit: impl FnMut(&Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let failed = |error| store_error("reading from the database", &error);
    let statement = txn.prepare(sql).await.map_err(failed)?;
    let portal = txn.bind(&statement, &[]).await.map_err(failed)?;
    loop {
        let rows = txn.query_portal(&portal, PIECE).await.map_err(failed)?;
        if rows.is_empty() {
            return Ok(());
        }
        rows.iter().try_for_each(&mut visit)?;
    }
}

/// A column.
pub(super) fn column<'r, T: FromSql<'r>>(row: &'r Row, index: usize) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| store_error("reading from the database", &error))
}

/// A number that counts something.
pub(super) fn count(row: &Row, index: usize) -> Result<u64, StoreError> {
    column::<i64>(row, index).map(|count| u64::try_from(count).unwrap_or_default())
}

/// The bits of an id.
pub(super) fn id(row: &Row, index: usize) -> Result<u128, StoreError> {
    column::<Uuid>(row, index).map(|id| id.as_u128())
}

/// What the column `index` of a row of that table holds encoded.
pub(super) fn decoded<T: DeserializeOwned>(table: &str, row: &Row, index: usize) -> Result<T, StoreError> {
    decode(table, column(row, index)?)
}

/// The same of each row.
pub(super) fn each<T: DeserializeOwned>(table: &str, rows: &[Row]) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| decoded(table, row, 0)).collect()
}

/// Any value.
pub(super) fn value<'a>(value: impl ToSql + Sync + Send + 'a, kind: Type) -> Value<'a> {
    (Box::new(value), kind)
}

pub(super) fn text(text: &str) -> Value<'_> {
    value(storable(text), Type::TEXT)
}

pub(super) fn number(number: u64) -> Value<'static> {
    value(signed(number), Type::INT8)
}

/// In milliseconds.
pub(super) fn moment(at: UnixMs) -> Value<'static> {
    number(at.0.min(LAST_MOMENT))
}

pub(super) fn moments(moments: impl IntoIterator<Item = UnixMs>) -> Value<'static> {
    let time = |at: UnixMs| UNIX_EPOCH + Duration::from_millis(at.0.min(LAST_MOMENT));
    value(moments.into_iter().map(time).collect::<Vec<_>>(), Type::TIMESTAMPTZ_ARRAY)
}

/// How many rows to look at.
pub(super) fn limit(rows: usize) -> Value<'static> {
    number(rows as u64)
}

pub(super) fn day(day: u32) -> Value<'static> {
    value(narrow(day), Type::INT4)
}

pub(super) fn uuid(bits: u128) -> Value<'static> {
    value(Uuid::from_u128(bits), Type::UUID)
}

pub(super) fn bytes(bytes: &[u8]) -> Value<'_> {
    value(bytes, Type::BYTEA)
}

pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value<'a> {
    value(texts.into_iter().map(storable).collect::<Vec<_>>(), Type::TEXT_ARRAY)
}

pub(super) fn optional_texts<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Value<'a> {
    let texts = texts.into_iter().map(|text| text.map(storable));
    value(texts.collect::<Vec<_>>(), Type::TEXT_ARRAY)
}

pub(super) fn numbers(numbers: impl IntoIterator<Item = u64>) -> Value<'static> {
    value(numbers.into_iter().map(signed).collect::<Vec<_>>(), Type::INT8_ARRAY)
}

pub(super) fn optional_numbers(numbers: impl IntoIterator<Item = Option<u64>>) -> Value<'static> {
    let numbers = numbers.into_iter().map(|number| number.map(signed));
    value(numbers.collect::<Vec<_>>(), Type::INT8_ARRAY)
}

pub(super) fn days(days: impl IntoIterator<Item = u32>) -> Value<'static> {
    value(days.into_iter().map(narrow).collect::<Vec<_>>(), Type::INT4_ARRAY)
}

pub(super) fn amounts(amounts: impl IntoIterator<Item = i64>) -> Value<'static> {
    value(amounts.into_iter().collect::<Vec<_>>(), Type::INT8_ARRAY)
}

pub(super) fn flags(flags: impl IntoIterator<Item = bool>) -> Value<'static> {
    value(flags.into_iter().collect::<Vec<_>>(), Type::BOOL_ARRAY)
}

pub(super) fn uuids(ids: impl IntoIterator<Item = u128>) -> Value<'static> {
    value(ids.into_iter().map(Uuid::from_u128).collect::<Vec<_>>(), Type::UUID_ARRAY)
}

pub(super) fn digests<'a>(digests: impl IntoIterator<Item = &'a [u8; 32]>) -> Value<'a> {
    value(digests.into_iter().map(|digest| &digest[..]).collect::<Vec<_>>(), Type::BYTEA_ARRAY)
}

/// Rows of a table, encoded.
pub(super) fn rows<'a, T: Serialize + 'a>(
    table: &str,
    rows: impl IntoIterator<Item = &'a T>,
) -> Result<Value<'static>, StoreError> {
    let rows = rows.into_iter().map(|row| encode(table, row)).collect::<Result<Vec<_>, _>>()?;
    Ok(value(rows, Type::BYTEA_ARRAY))
}

/// PostgreSQL's texts have no zero byte, and clients and providers may send one: the rows themselves keep it, and what they are found
/// by has its symbol instead.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{2400}").into() } else { text.into() }
}

/// Numbers of positions, moments and counts end there.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Hours and days end there.
pub(super) fn narrow(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
