//! redb as the engine below [`Rows`](gatehouse_tasks::Rows): rows as of the last commit, and commits.
//!
//! Nothing is read but what no command has read before, from one snapshot a batch, opened with the first such row. The writer alone
//! commits, so the snapshot is the last commit whenever it is opened.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_model::{CustomerId, DeliveryId, Digest, KeyId, Task, TaskId, WebhookId};
use gatehouse_tasks::{
    AdminIdempotencyRecord, Backend, DeploymentRecord, Hold, IdempotencyRecord, Kind, List, NameRecord,
    PriceVersion, ResponseRecord, ResponseTotals, Row, RowChange, RowKey, Series, WebhookDelivery,
    WebhookEndpoint,
};
use redb::{
    Database, Key, ReadOnlyTable, ReadTransaction, ReadableDatabase as _, ReadableTable as _,
    ReadableTableMetadata as _, TableDefinition, TableError, TableHandle as _, Value,
};
use serde::de::DeserializeOwned;

use crate::engine::write;
use crate::error::StoreError;
use crate::layout::{self, DELIVERY_INDEX, Day, HoldKey, PENDING_DELIVERIES, RESPONSE_AGES, Row as Bytes};
use crate::tables::find;
use crate::wait::{Access, WriterWait};

/// The file, for one batch.
pub(crate) struct FileEngine {
    database: Arc<Database>,
    wait: Arc<WriterWait>,
    snapshot: OnceCell<Snapshot>,
    /// The commit drops the history of all days before this one.
    drop_before: u32,
}

/// The last commit, with the tables that new tasks and requests are looked for in.
struct Snapshot {
    txn: ReadTransaction,
    live: ReadOnlyTable<u128, Bytes>,
    holds: ReadOnlyTable<HoldKey, Bytes>,
}

impl FileEngine {
    pub(crate) fn new(database: Arc<Database>, wait: Arc<WriterWait>) -> Self {
        Self { database, wait, snapshot: OnceCell::new(), drop_before: 0 }
    }

    /// Whether it may be gone at any moment: then a command stops at a row that cannot be fetched, and begins again later.
    pub(crate) fn may_be_away(&self) -> bool {
        self.wait.may_be_away()
    }

    /// Has the commit drop the history of all days before `day`.
    pub(crate) fn drop_before(&mut self, day: u32) {
        self.drop_before = day.max(self.drop_before);
    }

    /// Whether the commit drops history.
    pub(crate) fn drops(&self) -> bool {
        self.drop_before > 0
    }

    /// The days with history, as of the last commit.
    pub(crate) fn days(&self) -> Result<BTreeSet<u32>, StoreError> {
        Ok(self.snapshot()?.txn.list_tables()?.filter_map(|table| layout::history_day(&table)).collect())
    }

    fn snapshot(&self) -> Result<&Snapshot, StoreError> {
        if let Some(open) = self.snapshot.get() {
            return Ok(open);
        }
        let txn = self.database.begin_read()?;
        let (live, holds) = (txn.open_table(layout::LIVE)?, txn.open_table(layout::HOLDS)?);
        Ok(self.snapshot.get_or_init(|| Snapshot { txn, live, holds }))
    }

    fn open<K: Key, V: Value>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
        match self.snapshot()?.txn.open_table(table) {
            Ok(table) => Ok(Some(table)),
            // That of a day without rows.
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn row<'k, K: Key + 'static, T: Kind + DeserializeOwned + Into<Row>>(
        &self,
        table: TableDefinition<'_, K, Bytes>,
        key: K::SelfType<'k>,
    ) -> Result<Option<Row>, StoreError> {
        let Some(open) = self.open(table)? else { return Ok(None) };
        Ok(find::<_, T>(table.name(), &open, key)?.map(Into::into))
    }

    fn task(&self, id: TaskId) -> Result<Option<Row>, StoreError> {
        match find::<_, Task>("live", &self.snapshot()?.live, id.bits())? {
            Some(live) => Ok(Some(live.into())),
            None => self.row::<_, Task>(Day::new(id.timestamp().day()).history(), id.bits()),
        }
    }

    fn name(&self, name: &str) -> Result<Option<Row>, StoreError> {
        let Some(owners) = self.open(layout::NAME_OWNERS)? else { return Ok(None) };
        let Some(owner) = owners.get(name)? else { return Ok(None) };
        self.row::<_, NameRecord>(layout::NAMES, (owner.value(), name))
    }

    fn webhooks_of(&self, customer: &str) -> Result<Option<Row>, StoreError> {
        let Some(owners) = self.open(layout::WEBHOOK_OWNERS)? else { return Ok(None) };
        let rows = owners.range((customer, 0)..=(customer, u128::MAX))?;
        let ids = rows.map(|row| Ok(WebhookId::from_bits(row?.0.value().1)));
        let ids = ids.collect::<Result<Vec<_>, StoreError>>()?;
        Ok((!ids.is_empty()).then(|| ids.into()))
    }

    fn newest(&self, series: Series) -> Result<Option<Row>, StoreError> {
        let table = match series {
            Series::Audit => layout::AUDIT,
            Series::Deployments => layout::DEPLOYMENTS,
            Series::Ledger => layout::LEDGER,
            Series::PriceBooks => layout::PRICE_BOOKS,
        };
        let Some(rows) = self.open(table)? else { return Ok(None) };
        let last = rows.last()?;
        Ok(last.map(|(position, _)| position.value().into()))
    }
}

impl Backend for FileEngine {
    type Error = StoreError;

    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.wait.reach(Access::Fetch)?;
        match key {
            RowKey::AdminIdempotency(token) => {
                self.row::<_, AdminIdempotencyRecord>(layout::ADMIN_IDEMPOTENCY, token.0)
            }
            RowKey::Customer(id) => self.row::<_, gatehouse_model::Customer>(layout::CUSTOMERS, &id.0),
            RowKey::Delivery(id) => self.row::<_, WebhookDelivery>(layout::DELIVERIES, id.bits()),
            RowKey::Deployment(number) => self.row::<_, DeploymentRecord>(layout::DEPLOYMENTS, *number),
            RowKey::Hold(id) => {
                let found: Option<Hold> = find("holds", &self.snapshot()?.holds, layout::hold_key(*id))?;
                Ok(found.map(Row::from))
            }
            RowKey::Idempotency(key, Digest(token)) => {
                self.row::<_, IdempotencyRecord>(layout::IDEMPOTENCY, (&*key.0, *token))
            }
            RowKey::Key(id) => self.row::<_, gatehouse_model::Key>(layout::KEYS, &id.0),
            RowKey::KeyDigest(Digest(digest)) => {
                let Some(digests) = self.open(layout::KEY_DIGESTS)? else { return Ok(None) };
                Ok(digests.get(digest)?.map(|id| KeyId::from(id.value()).into()))
            }
            RowKey::Name(name) => self.name(name),
            RowKey::Newest(series) => self.newest(*series),
            RowKey::PriceBook(number) => self.row::<_, PriceVersion>(layout::PRICE_BOOKS, *number),
            RowKey::Response(customer, id) => {
                self.row::<_, ResponseRecord>(layout::RESPONSES, (&*customer.0, &**id))
            }
            RowKey::ResponseTotals(CustomerId(customer)) => {
                let Some(totals) = self.open(layout::RESPONSE_TOTALS)? else { return Ok(None) };
                let found = totals.get(customer.as_str())?.map(|row| row.value());
                Ok(found.map(|(count, bytes)| ResponseTotals { count, bytes }.into()))
            }
            RowKey::StepCount(day) => {
                let rows = self.open(Day::new(*day).steps())?;
                Ok(rows.map(|rows| rows.len()).transpose()?.map(Row::from))
            }
            RowKey::Task(id) => self.task(*id),
            RowKey::Webhook(id) => self.row::<_, WebhookEndpoint>(layout::WEBHOOKS, id.bits()),
            RowKey::WebhooksOf(customer) => self.webhooks_of(&customer.0),
            // Only ever written.
            RowKey::Audit(_) | RowKey::Entry(_) | RowKey::Steps(..) | RowKey::Usage(_) => Ok(None),
        }
    }

    fn first(
        &self,
        list: &List,
        from: Option<&(u64, RowKey)>,
        is_changed: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, StoreError> {
        self.wait.reach(Access::Fetch)?;
        let free = |found: &Result<(u64, RowKey), StoreError>| {
            found.as_ref().map_or(true, |(_, key)| !is_changed(key))
        };
        match list {
            List::Live => {
                let from = if let Some((_, RowKey::Task(id))) = from { id.bits() } else { 0 };
                let rows = self.snapshot()?.live.range(from..)?;
                let mut rows = rows.map(|row| Ok((0, RowKey::Task(TaskId::from_bits(row?.0.value())))));
                rows.find(free).transpose()
            }
            List::Pending(webhook) => {
                let Some(index) = self.open(DELIVERY_INDEX)? else { return Ok(None) };
                let of = |id| (webhook.bits(), PENDING_DELIVERIES, id);
                let from = if let Some((_, RowKey::Delivery(id))) = from { id.bits() } else { 0 };
                let rows = index.range(of(from)..=of(u128::MAX))?;
                let key = |id| RowKey::Delivery(DeliveryId::from_bits(id));
                let mut rows = rows.map(|row| Ok((0, key(row?.0.value().2))));
                rows.find(free).transpose()
            }
            List::Responses(customer) => {
                let Some(ages) = self.open(RESPONSE_AGES)? else { return Ok(None) };
                let from = if let Some((kept, RowKey::Response(_, id))) = from {
                    (*kept, id.as_str())
                } else {
                    (0, "")
                };
                let rows = ages.range((customer.0.as_str(), from.0, from.1)..)?;
                let rows = rows.map(|row| {
                    let row = row?;
                    let (owner, kept, id) = row.0.value();
                    let key = RowKey::Response(customer.clone(), id.to_owned());
                    Ok((owner == customer.0).then_some((kept, key)))
                });
                let mut rows = rows.map_while(Result::transpose);
                rows.find(free).transpose()
            }
        }
    }

    fn commit(&mut self, changes: &[RowChange]) -> Result<(), StoreError> {
        // An open snapshot would keep the pages that the commit frees.
        self.snapshot.take();
        let mut txn = self.database.begin_write()?;
        // Two-phase commit with the allocator's state in it: reopening after a crash takes milliseconds.
        txn.set_quick_repair(true);
        write::write(&txn, changes)?;
        write::drop_days(&txn, self.drop_before)?;
        Ok(txn.commit()?)
    }
}
