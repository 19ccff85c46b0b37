//! From a file into an empty database, in one transaction.

use std::collections::BTreeMap;

use gatehouse_model::{
    Credits, Customer, CustomerId, DeliveryId, Digest, Key, KeyId, Task, TaskId, WebhookId,
};
use gatehouse_tasks::{
    AdminIdempotencyRecord, AuditRecord, BalancesAfter, DeploymentRecord, Hold, IdempotencyRecord,
    JournalEntry, NameRecord, PriceVersion, ResponseRecord, ResponseTotals, Row, RowKey, StepRow, UsageSums,
    WebhookDelivery, WebhookEndpoint,
};
use redb::{
    Key as RedbKey, ReadTransaction, ReadableTable as _, ReadableTableMetadata as _, TableDefinition,
    TableHandle as _,
};
use serde::de::DeserializeOwned;
use tokio_postgres::{Client, Transaction};

use super::{Pieces, refused};
use crate::copy::{CopyError, StoreCopy};
use crate::error::StoreError;
use crate::examine::{Progress, ledger_mark};
use crate::layout::{self, Day, Row as Bytes, UsageHours, UsageRowKey};
use crate::postgres::reads::fit_pepper;
use crate::postgres::sql::{PATIENTLY, Statement};
use crate::postgres::write::Flush;
use crate::postgres::write::money::kept_sums;
use crate::row::decode;

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
    let mut copy = IntoDatabase { file, txn, pieces: Pieces::new(progress) };
    copy.expect()?;
    copy.rows().await?;
    copy.days().await?;
    copy.ledger().await?;
    copy.usage().await?;
    copy.pepper().await?;
    let IntoDatabase { txn, pieces, .. } = copy;
    txn.commit().await.map_err(|error| refused("its commit", &error))?;
    Ok(StoreCopy { rows: pieces.rows, mark: ledger_mark(file)? })
}

struct IntoDatabase<'a> {
    file: &'a ReadTransaction,
    txn: Transaction<'a>,
    pieces: Pieces<'a>,
}

impl IntoDatabase<'_> {
    fn expect(&self) -> Result<(), StoreError> {
        macro_rules! count {
            ($($table:ident),+) => {
                $(self.pieces.progress.expect_rows(self.file.open_table(layout::$table)?.len()?);)+
            };
        }
        count!(
            ADMIN_IDEMPOTENCY,
            AUDIT,
            CUSTOMERS,
            DELIVERIES,
            DEPLOYMENTS,
            HOLDS,
            IDEMPOTENCY,
            KEYS,
            LEDGER,
            LIVE,
            NAMES,
            PRICE_BOOKS,
            RESPONSES,
            RESPONSE_TOTALS,
            USAGE_DAYS,
            WEBHOOKS
        );
        for table in self.file.list_tables().map_err(StoreError::from)? {
            if layout::history_day(&table).or_else(|| layout::steps_day(&table)).is_some() {
                self.pieces.progress.expect_rows(self.file.open_untyped_table(table)?.len()?);
            }
        }
        Ok(())
    }

    async fn rows(&mut self) -> Result<(), CopyError> {
        self.table(layout::CUSTOMERS, |id, row: Customer| (RowKey::Customer(CustomerId::from(id)), row))
            .await?;
        self.table(layout::KEYS, |id, row: Key| (RowKey::Key(KeyId::from(id)), row)).await?;
        self.table(layout::HOLDS, |_, row: Hold| (RowKey::Hold(row.id), row)).await?;
        self.table(layout::NAMES, |(_, name), row: NameRecord| (RowKey::Name(name.to_owned()), row)).await?;
        self.table(layout::IDEMPOTENCY, |(key, token), row: IdempotencyRecord| {
            (RowKey::Idempotency(KeyId::from(key), Digest(token)), row)
        })
        .await?;
        self.table(layout::ADMIN_IDEMPOTENCY, |token, row: AdminIdempotencyRecord| {
            (RowKey::AdminIdempotency(Digest(token)), row)
        })
        .await?;
        self.table(layout::AUDIT, |number, row: AuditRecord| (RowKey::Audit(number), row)).await?;
        self.table(layout::PRICE_BOOKS, |number, row: PriceVersion| (RowKey::PriceBook(number), row)).await?;
        self.table(layout::DEPLOYMENTS, |number, row: DeploymentRecord| (RowKey::Deployment(number), row))
            .await?;
        self.table(layout::WEBHOOKS, |id, row: WebhookEndpoint| {
            (RowKey::Webhook(WebhookId::from_bits(id)), row)
        })
        .await?;
        self.table(layout::DELIVERIES, |id, row: WebhookDelivery| {
            (RowKey::Delivery(DeliveryId::from_bits(id)), row)
        })
        .await?;
        self.table(layout::RESPONSES, |(customer, id), row: ResponseRecord| {
            (RowKey::Response(CustomerId::from(customer), id.to_owned()), row)
        })
        .await?;
        for row in self
            .file
            .open_table(layout::RESPONSE_TOTALS)
            .map_err(StoreError::from)?
            .iter()
            .map_err(StoreError::from)?
        {
            let (customer, totals) = row.map_err(StoreError::from)?;
            let (count, bytes) = totals.value();
            let key = RowKey::ResponseTotals(CustomerId::from(customer.value()));
            self.pieces.add("response-totals", key, ResponseTotals { count, bytes }, 0);
        }
        self.send(true).await
    }

    /// Tasks, live and ended, and their logs.
    async fn days(&mut self) -> Result<(), CopyError> {
        let task = |id, row: Task| (RowKey::Task(TaskId::from_bits(id)), row);
        self.table(layout::LIVE, task).await?;
        let tables = self.file.list_tables().map_err(StoreError::from)?;
        let (mut histories, mut logs) = (Vec::new(), Vec::new());
        for table in tables {
            histories.extend(layout::history_day(&table));
            logs.extend(layout::steps_day(&table));
        }
        for day in histories {
            self.table(Day::new(day).history(), task).await?;
        }
        for day in logs {
            let day_tables = Day::new(day);
            let step = |(id, place), row: StepRow| (RowKey::Steps(TaskId::from_bits(id), place), row);
            self.table(day_tables.steps(), step).await?;
            let rows = self.file.open_table(day_tables.steps()).map_err(StoreError::from)?;
            let rows = rows.len().map_err(StoreError::from)?;
            self.pieces.changes.push(gatehouse_tasks::RowChange {
                key: RowKey::StepCount(day),
                before: None,
                after: Some(Row::Number(rows)),
            });
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
        self.table(layout::LEDGER, move |position, entry: JournalEntry| {
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
        let days = self.file.open_table(layout::USAGE_DAYS).map_err(StoreError::from)?;
        self.sums(&days, true).await?;
        let tables = self.file.list_tables().map_err(StoreError::from)?;
        let mut kept: Vec<u32> = tables.filter_map(|table| layout::usage_hours_day(&table)).collect();
        kept.sort_unstable();
        for day in kept {
            let hours = self.file.open_table(UsageHours::new(day).table()).map_err(StoreError::from)?;
            self.sums(&hours, false).await?;
        }
        Ok(())
    }

    async fn sums(
        &mut self,
        table: &redb::ReadOnlyTable<UsageRowKey, Bytes>,
        are_days: bool,
    ) -> Result<(), CopyError> {
        let mut rows = table.iter().map_err(StoreError::from)?;
        loop {
            let mut piece = Vec::new();
            for row in rows.by_ref().take(super::PIECE) {
                let (key, row) = row.map_err(StoreError::from)?;
                let (customer, name, period, model) = key.value();
                let key = (customer.to_owned(), name.to_owned(), period, model.to_owned());
                piece.push((key, decode::<UsageSums>("usage", row.value())?));
            }
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

    /// Every row of a table.
    async fn table<K: RedbKey + 'static, T: DeserializeOwned, R: Into<Row>>(
        &mut self,
        table: TableDefinition<'_, K, Bytes>,
        mut row: impl FnMut(K::SelfType<'_>, T) -> (RowKey, R),
    ) -> Result<(), CopyError> {
        let name = table.name().to_owned();
        let rows = self.file.open_table(table).map_err(StoreError::from)?;
        for found in rows.iter().map_err(StoreError::from)? {
            let (key, bytes) = found.map_err(StoreError::from)?;
            let bytes = bytes.value();
            let (key, row) = row(key.value(), decode(&name, bytes)?);
            self.pieces.add(&name, key, row, bytes.len());
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
