//! From a file into an empty database, in one transaction.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, CustomerId, DeliveryId, Digest, KeyId, TaskId, WebhookId};
use gatehouse_tasks::{BalancesAfter, Row, RowChange, RowKey, UsageSums};
use redb::ReadTransaction;
use serde::de::DeserializeOwned;
use tokio_postgres::{Client, Transaction};

use super::{Pieces, refused};
use crate::copy::{CopyError, StoreCopy};
use crate::error::StoreError;
use crate::examine::{Progress, ledger_mark};
use crate::layout::{self, HISTORY, STEPS, USAGE_HOURS, UsageRowKey};
use crate::postgres::reads::fit_pepper;
use crate::postgres::sql::{PATIENTLY, Statement};
use crate::postgres::write::Flush;
use crate::postgres::write::money::kept_sums;
use crate::table::{Table, TableKey};

const IS_EMPTY: &str = "
    select
        not exists (select from customer) and not exists (select from ledger)
        and not exists (select from audit) and not exists (select from price_book)
        and not exists (select from deployment) and not exists (select from meta where key <> 'schema')";

/// Copies what is committed in a file into a database whose tables are empty.
pub(crate) async fn from_file(
    client: &mut Client,
    file: &ReadTransaction,
    progress: &Progress,
) -> Result<StoreCopy, CopyError> {
    let txn = client.transaction().await.map_err(|error| refused("its begin", &error))?;
    txn.batch_execute(PATIENTLY).await.map_err(|error| refused("its begin", &error))?;
    let row = txn.query_typed_one(IS_EMPTY, &[]).await;
    let row = row.map_err(|error| refused("a look at the database", &error))?;
    if !row.try_get::<_, bool>(0).map_err(|error| refused("a look at the database", &error))? {
        let text = "the database has rows already; a copy is made into an empty one";
        return Err(CopyError::Copy(text.to_owned()));
    }
    let mut copy = IntoDatabase { file, txn, pieces: Pieces::new(progress), only_expects: true };
    copy.all().await?;
    copy.only_expects = false;
    copy.all().await?;
    copy.pepper().await?;
    let IntoDatabase { txn, pieces, .. } = copy;
    txn.commit().await.map_err(|error| refused("its commit", &error))?;
    Ok(StoreCopy { rows: pieces.rows, mark: ledger_mark(file)? })
}

struct IntoDatabase<'a> {
    file: &'a ReadTransaction,
    txn: Transaction<'a>,
    pieces: Pieces<'a>,
    /// Tables are not copied yet: the progress is told how many rows they have.
    only_expects: bool,
}

impl IntoDatabase<'_> {
    async fn all(&mut self) -> Result<(), CopyError> {
        self.rows().await?;
        self.days().await?;
        self.ledger().await?;
        self.usage().await
    }

    async fn rows(&mut self) -> Result<(), CopyError> {
        self.table(layout::CUSTOMERS, |id, row| (RowKey::Customer(CustomerId(id)), row)).await?;
        self.table(layout::KEYS, |id, row| (RowKey::Key(KeyId(id)), row)).await?;
        self.table(layout::HOLDS, |_, row| (RowKey::Hold(row.id), row)).await?;
        self.table(layout::NAMES, |(_, name), row| (RowKey::Name(name), row)).await?;
        self.table(layout::IDEMPOTENCY, |(key, token), row| {
            (RowKey::Idempotency(KeyId(key), Digest(token)), row)
        })
        .await?;
        self.table(layout::ADMIN_IDEMPOTENCY, |token, row| (RowKey::AdminIdempotency(Digest(token)), row))
            .await?;
        self.table(layout::AUDIT, |number, row| (RowKey::Audit(number), row)).await?;
        self.table(layout::PRICE_BOOKS, |number, row| (RowKey::PriceBook(number), row)).await?;
        self.table(layout::DEPLOYMENTS, |number, row| (RowKey::Deployment(number), row)).await?;
        self.table(layout::WEBHOOKS, |id, row| (RowKey::Webhook(WebhookId::from_bits(id)), row)).await?;
        self.table(layout::DELIVERIES, |id, row| (RowKey::Delivery(DeliveryId::from_bits(id)), row)).await?;
        self.table(layout::RESPONSES, |(customer, id), row| {
            (RowKey::Response(CustomerId(customer), id), row)
        })
        .await?;
        self.table(layout::RESPONSE_TOTALS, |customer, row| {
            (RowKey::ResponseTotals(CustomerId(customer)), row)
        })
        .await
    }

    /// Tasks, live and ended, and their logs.
    async fn days(&mut self) -> Result<(), CopyError> {
        let task = |id, row| (RowKey::Task(TaskId::from_bits(id)), row);
        self.table(layout::LIVE, task).await?;
        let tables = || self.file.list_tables().map_err(StoreError::from);
        let (histories, logs) = (HISTORY.days(tables()?), STEPS.days(tables()?));
        for day in histories {
            self.table(HISTORY.of(day), task).await?;
        }
        for day in logs {
            let step = |(id, place), row| (RowKey::Steps(TaskId::from_bits(id), place), row);
            self.table(STEPS.of(day), step).await?;
            if !self.only_expects {
                let after = Some(Row::Number(STEPS.of(day).len(self.file)?));
                self.pieces.changes.push(RowChange { key: RowKey::StepCount(day), before: None, after });
            }
        }
        self.send(true).await
    }

    /// The ledger, with the balances that its entries lead to.
    async fn ledger(&mut self) -> Result<(), CopyError> {
        let mut sums = BTreeMap::<(bool, String), i64>::new();
        let mut add = |is_key: bool, owner: &str, change: i64| {
            let sum = sums.entry((is_key, owner.to_owned())).or_default();
            *sum = sum.wrapping_add(change);
            Credits(*sum)
        };
        self.table(layout::LEDGER, move |position, entry| {
            let moved = entry.movement;
            let available = add(false, &entry.customer.0, moved.available.0);
            let used = moved.reserved.0.wrapping_add(moved.spent.0);
            let used = entry.key.as_ref().map(|key| add(true, &key.0, used));
            (RowKey::Entry(position), (entry, BalancesAfter { available, used }))
        })
        .await
    }

    /// Sums as they are: what is added up again would be counted for customers and for all.
    async fn usage(&mut self) -> Result<(), CopyError> {
        self.sums(layout::USAGE_DAYS, true).await?;
        for day in USAGE_HOURS.days(self.file.list_tables().map_err(StoreError::from)?) {
            self.sums(USAGE_HOURS.of(day), false).await?;
        }
        Ok(())
    }

    async fn sums(&mut self, table: Table<UsageRowKey, UsageSums>, are_days: bool) -> Result<(), CopyError> {
        if self.is_expected(&table)? {
            return Ok(());
        }
        let table = table.open(self.file).map_err(StoreError::from)?;
        let mut rows = table.range(..)?;
        loop {
            let piece = rows.by_ref().take(super::PIECE).map(|row| row?.both());
            let piece = piece.collect::<Result<Vec<_>, StoreError>>()?;
            if piece.is_empty() {
                return Ok(());
            }
            let sums: Vec<_> = piece
                .iter()
                .map(|((customer, key, period, model), sums)| {
                    ((customer.as_str(), key.as_str(), *period, model.as_str()), *sums)
                })
                .collect();
            let [days, hours] = kept_sums(&sums, &sums);
            let (statement, name) = if are_days { (days, "usage-days") } else { (hours, "usage-hours") };
            self.execute(&statement).await?;
            self.pieces.count(name, sums.len() as u64);
        }
    }

    /// The check value of the pepper that its keys were made with.
    async fn pepper(&mut self) -> Result<(), CopyError> {
        if let Some(check) = crate::file::pepper::check_of(self.file)? {
            fit_pepper(&self.txn, check).await?;
        }
        Ok(())
    }

    /// Whether the rows of a table are only to be counted, which is done then.
    fn is_expected<K: TableKey, V>(&self, table: &Table<K, V>) -> Result<bool, StoreError> {
        if self.only_expects {
            self.pieces.progress.expect_rows(table.len(self.file)?);
        }
        Ok(self.only_expects)
    }

    /// Every row of a table.
    async fn table<K: TableKey, V: DeserializeOwned, R: Into<Row>>(
        &mut self,
        table: Table<K, V>,
        mut row: impl FnMut(K, V) -> (RowKey, R),
    ) -> Result<(), CopyError> {
        if self.is_expected(&table)? {
            return Ok(());
        }
        let rows = table.open(self.file).map_err(StoreError::from)?;
        for found in rows.range(..)? {
            let found = found?;
            let (key, row) = found.both().map(|(key, found)| row(key, found))?;
            self.pieces.add(&table.name(), key, row, found.row_len());
            self.send(false).await?;
        }
        self.send(true).await
    }

    async fn send(&mut self, is_last: bool) -> Result<(), CopyError> {
        let mut changes = self.pieces.piece(is_last);
        if changes.is_empty() {
            return Ok(());
        }
        changes.sort_by(|one, other| one.key.cmp(&other.key));
        let flush = Flush::of(&changes, 0)?;
        flush.send_within(&self.txn).await.map_err(|error| refused("its rows", &error))
    }

    async fn execute(&self, statement: &Statement<'_>) -> Result<(), CopyError> {
        statement.execute(self.txn.client()).await.map_err(|error| refused("its rows", &error))
    }
}
