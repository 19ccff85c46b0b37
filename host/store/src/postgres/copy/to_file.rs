//! From a database into a new file.

use std::collections::BTreeMap;
use std::path::Path;

use gatehouse_model::{Credits, TaskId};
use gatehouse_tasks::{AuditRecord, BalancesAfter, ResponseTotals, Row, RowKey, StepRow};
use redb::{Database, Durability, WriteTransaction};
use tokio_postgres::{Client, IsolationLevel, Row as Answer, Transaction};

use super::{Pieces, refused};
use crate::copy::{CACHE, CopyError, StoreCopy};
use crate::engine::write::write;
use crate::error::StoreError;
use crate::examine::Progress;
use crate::file::pepper;
use crate::layout;
use crate::open::schema;
use crate::postgres::examine::{USAGE_DAYS, USAGE_HOURS};
use crate::postgres::reads::{ENTRIES, entry, ledger_mark, usage_row};
use crate::postgres::sql::{PATIENTLY, column, count, decoded, first, id, walk};
use crate::postgres::stored::KNOWN;
use crate::usage::read::UsageRow;

const ROWS: &str = "
    select
        (select count(*) from ledger) + (select count(*) from customer) + (select count(*) from api_key)
        + (select count(*) from hold) + (select count(*) from task) + (select count(*) from step)
        + (select count(*) from name) + (select count(*) from audit) + (select count(*) from delivery)
        + (select count(*) from usage_day) + (select count(*) from usage_hour)";
const PEPPER: &str = "select value from meta where key = 'pepper-check'";

/// Copies what is committed in a database into a new file at `path`, durably. A file that was begun stays after an error.
pub(crate) async fn to_file(
    client: &mut Client,
    path: &Path,
    progress: &Progress,
) -> Result<StoreCopy, CopyError> {
    let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let txn = begin.start().await.map_err(|error| failed(&error))?;
    txn.batch_execute(PATIENTLY).await.map_err(|error| failed(&error))?;
    let database = Database::builder().set_cache_size(CACHE).create(path);
    let database = database.map_err(|error| CopyError::Copy(error.to_string()))?;
    schema::prepare(&database, path).map_err(|error| CopyError::Copy(error.to_string()))?;
    if let Some(row) = first(&txn, ROWS, vec![]).await? {
        progress.expect_rows(count(&row, 0)?);
    }
    let mut copy = IntoFile { database: &database, txn: &txn, pieces: Pieces::new(progress) };
    copy.rows().await?;
    copy.ledger().await?;
    copy.usage().await?;
    let rows = copy.pieces.rows;
    if let Some(row) = first(&txn, PEPPER, vec![]).await? {
        pepper::fit_pepper(&database, column::<i64>(&row, 0)?.cast_unsigned())?;
    }
    // Its commit is durable, and so all that were before it.
    let last = database.begin_write().map_err(StoreError::from)?;
    last.commit().map_err(StoreError::from)?;
    Ok(StoreCopy { rows, mark: ledger_mark(&txn).await? })
}

fn failed(error: &tokio_postgres::Error) -> CopyError {
    refused("the database", error)
}

struct IntoFile<'a> {
    database: &'a Database,
    txn: &'a Transaction<'a>,
    pieces: Pieces<'a>,
}

impl IntoFile<'_> {
    async fn rows(&mut self) -> Result<(), CopyError> {
        for table in KNOWN {
            let sql = format!("select row from {}", table.name);
            self.each(table.name, &sql, |row| table.read(row)).await?;
        }
        self.each("step", "select row, task, place from step", |row| {
            let key = RowKey::Steps(TaskId::from_bits(id(row, 1)?), count(row, 2)?);
            Ok((key, Row::from(decoded::<StepRow>("step", row, 0)?)))
        })
        .await?;
        self.each("audit", "select row, number from audit", |row| {
            Ok((RowKey::Audit(count(row, 1)?), Row::from(decoded::<AuditRecord>("audit", row, 0)?)))
        })
        .await?;
        self.each("response_total", "select customer, count, bytes from response_total", |row| {
            let totals = ResponseTotals { count: count(row, 1)?, bytes: count(row, 2)? };
            let customer: &str = column(row, 0)?;
            Ok((RowKey::ResponseTotals(customer.into()), Row::from(totals)))
        })
        .await
    }

    async fn ledger(&mut self) -> Result<(), CopyError> {
        self.each("ledger", ENTRIES, |row| {
            let available = Credits(column(row, 15)?);
            let used = column::<Option<i64>>(row, 16)?.map(Credits);
            let key = RowKey::Entry(count(row, 0)?);
            Ok((key, Row::from((entry(row)?, BalancesAfter { available, used }))))
        })
        .await
    }

    /// Sums as they are.
    async fn usage(&mut self) -> Result<(), CopyError> {
        let Self { database, txn, pieces } = self;
        for (sql, are_days) in [(USAGE_DAYS, true), (USAGE_HOURS, false)] {
            let mut rows = Vec::new();
            walk(txn, sql, |row| {
                rows.extend(usage_row(row)?);
                if rows.len() >= super::PIECE {
                    commit(database, |txn| keep_sums(txn, std::mem::take(&mut rows), are_days, pieces))?;
                }
                Ok(())
            })
            .await?;
            commit(database, |txn| keep_sums(txn, rows, are_days, pieces))?;
        }
        Ok(())
    }

    /// Every row that a statement answers.
    async fn each(
        &mut self,
        table: &str,
        sql: &str,
        mut read: impl FnMut(&Answer) -> Result<(RowKey, Row), StoreError>,
    ) -> Result<(), CopyError> {
        let Self { database, txn, pieces } = self;
        walk(txn, sql, |row| {
            let (key, found) = read(row)?;
            pieces.add(table, key, found, row.raw_size_bytes());
            keep(database, pieces, false)
        })
        .await?;
        Ok(keep(database, pieces, true)?)
    }
}

fn keep(database: &Database, pieces: &mut Pieces<'_>, is_last: bool) -> Result<(), StoreError> {
    let mut changes = pieces.piece(is_last);
    if changes.is_empty() {
        return Ok(());
    }
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    commit(database, |txn| write(txn, &changes))
}

fn keep_sums(
    txn: &WriteTransaction,
    rows: Vec<UsageRow>,
    are_days: bool,
    pieces: &mut Pieces<'_>,
) -> Result<(), StoreError> {
    let mut by_day = BTreeMap::<u32, Vec<UsageRow>>::new();
    pieces.count(if are_days { "usage_day" } else { "usage_hour" }, rows.len() as u64);
    for row in rows {
        by_day.entry(if are_days { 0 } else { row.period / 24 }).or_default().push(row);
    }
    for (day, rows) in by_day {
        let table = if are_days { layout::USAGE_DAYS } else { layout::USAGE_HOURS.of(day) };
        let mut table = table.open_to_write(txn)?;
        for UsageRow { customer, key, period, model, sums } in rows {
            table.insert((&customer.0, &key.0, period, &model), &sums)?;
        }
    }
    Ok(())
}

/// A commit that the last one makes durable.
fn commit(
    database: &Database,
    work: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut txn = database.begin_write()?;
    txn.set_durability(Durability::None).map_err(StoreError::failed)?;
    work(&txn)?;
    Ok(txn.commit()?)
}
