//! redb as the engine below [`Rows`](gatehouse_tasks::Rows): rows as of the last commit, and commits.
//!
//! Nothing is read but what no command has read before, from one snapshot a batch, opened with the first such row. The writer alone
//! commits, so the snapshot is the last commit whenever it is opened.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_model::{DeliveryId, Digest, KeyId, Task, TaskId, WebhookId};
use gatehouse_tasks::{Backend, Hold, List, Row, RowChange, RowKey, Series};
use redb::{Database, ReadTransaction, ReadableDatabase as _};
use serde::de::DeserializeOwned;

use crate::engine::write;
use crate::error::StoreError;
use crate::layout::{self, DELIVERY_INDEX, HISTORY, HoldKey, PENDING_DELIVERIES, RESPONSE_AGES, STEPS};
use crate::table::{ReadRows, Table, TableKey};
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
    live: ReadRows<u128, Task>,
    holds: ReadRows<HoldKey, Hold>,
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
        Ok(HISTORY.days(self.snapshot()?.txn.list_tables()?))
    }

    fn snapshot(&self) -> Result<&Snapshot, StoreError> {
        if let Some(open) = self.snapshot.get() {
            return Ok(open);
        }
        let txn = self.database.begin_read()?;
        let (live, holds) = (layout::LIVE.open(&txn)?, layout::HOLDS.open(&txn)?);
        Ok(self.snapshot.get_or_init(|| Snapshot { txn, live, holds }))
    }

    fn open<K: TableKey, V>(&self, table: &Table<K, V>) -> Result<ReadRows<K, V>, StoreError> {
        Ok(table.open(&self.snapshot()?.txn)?)
    }

    fn row<K: TableKey, V: DeserializeOwned + Into<Row>>(
        &self,
        table: &Table<K, V>,
        key: K::Of<'_>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(table.find(&self.snapshot()?.txn, key)?.map(Into::into))
    }

    fn task(&self, id: TaskId) -> Result<Option<Row>, StoreError> {
        match self.snapshot()?.live.get(id.bits())? {
            Some(live) => Ok(Some(live.into())),
            None => self.row(&HISTORY.of(id.timestamp().day()), id.bits()),
        }
    }

    fn name(&self, name: &str) -> Result<Option<Row>, StoreError> {
        let owner = layout::NAME_OWNERS.find(&self.snapshot()?.txn, name)?;
        owner.map_or(Ok(None), |owner| self.row(&layout::NAMES, (&owner, name)))
    }

    fn webhooks_of(&self, customer: &str) -> Result<Option<Row>, StoreError> {
        let owners = self.open(&layout::WEBHOOK_OWNERS)?;
        let rows = owners.range((customer, 0)..=(customer, u128::MAX))?;
        let ids = rows.map(|row| Ok(WebhookId::from_bits(row?.key()?.1)));
        let ids = ids.collect::<Result<Vec<_>, StoreError>>()?;
        Ok((!ids.is_empty()).then(|| ids.into()))
    }

    fn newest(&self, series: Series) -> Result<Option<Row>, StoreError> {
        let last = match series {
            Series::Audit => self.open(&layout::AUDIT)?.last(),
            Series::Deployments => self.open(&layout::DEPLOYMENTS)?.last(),
            Series::Ledger => self.open(&layout::LEDGER)?.last(),
            Series::PriceBooks => self.open(&layout::PRICE_BOOKS)?.last(),
        };
        Ok(last?.map(Row::from))
    }
}

impl Backend for FileEngine {
    type Error = StoreError;

    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.wait.reach(Access::Fetch)?;
        match key {
            RowKey::AdminIdempotency(token) => self.row(&layout::ADMIN_IDEMPOTENCY, token.0),
            RowKey::Customer(id) => self.row(&layout::CUSTOMERS, &id.0),
            RowKey::Delivery(id) => self.row(&layout::DELIVERIES, id.bits()),
            RowKey::Deployment(number) => self.row(&layout::DEPLOYMENTS, *number),
            RowKey::Hold(id) => Ok(self.snapshot()?.holds.get(layout::hold_key(*id))?.map(Row::from)),
            RowKey::Idempotency(key, Digest(token)) => self.row(&layout::IDEMPOTENCY, (&*key.0, *token)),
            RowKey::Key(id) => self.row(&layout::KEYS, &id.0),
            RowKey::KeyDigest(Digest(digest)) => {
                let id = layout::KEY_DIGESTS.find(&self.snapshot()?.txn, *digest)?;
                Ok(id.map(|id| KeyId(id).into()))
            }
            RowKey::Name(name) => self.name(name),
            RowKey::Newest(series) => self.newest(*series),
            RowKey::PriceBook(number) => self.row(&layout::PRICE_BOOKS, *number),
            RowKey::Response(customer, id) => self.row(&layout::RESPONSES, (&*customer.0, &**id)),
            RowKey::ResponseTotals(customer) => self.row(&layout::RESPONSE_TOTALS, &customer.0),
            RowKey::StepCount(day) => {
                let rows = STEPS.of(*day).open_if_any(&self.snapshot()?.txn)?;
                Ok(rows.map(|rows| rows.len()).transpose()?.map(Row::from))
            }
            RowKey::Task(id) => self.task(*id),
            RowKey::Webhook(id) => self.row(&layout::WEBHOOKS, id.bits()),
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
                let mut rows = rows.map(|row| Ok((0, RowKey::Task(TaskId::from_bits(row?.key()?)))));
                rows.find(free).transpose()
            }
            List::Pending(webhook) => {
                let index = self.open(&DELIVERY_INDEX)?;
                let of = |id| (webhook.bits(), PENDING_DELIVERIES, id);
                let from = if let Some((_, RowKey::Delivery(id))) = from { id.bits() } else { 0 };
                let rows = index.range(of(from)..=of(u128::MAX))?;
                let key = |id| RowKey::Delivery(DeliveryId::from_bits(id));
                let mut rows = rows.map(|row| Ok((0, key(row?.key()?.2))));
                rows.find(free).transpose()
            }
            List::Responses(customer) => {
                let ages = self.open(&RESPONSE_AGES)?;
                let from = if let Some((kept, RowKey::Response(_, id))) = from {
                    (*kept, id.as_str())
                } else {
                    (0, "")
                };
                let rows = ages.range((customer.0.as_str(), from.0, from.1)..)?;
                let rows = rows.map(|row| {
                    let (owner, kept, id) = row?.key()?;
                    let key = RowKey::Response(customer.clone(), id);
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
