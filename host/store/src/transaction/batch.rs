//! One write transaction as [`LedgerStorage`]: the rules of `tasks` read and write rows through it.
//!
//! Holds no rule of its own beyond keeping its look-up tables in step with the rows they point at.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::mem;

use gatehouse_model::{
    Customer, CustomerId, DeliveryId, Digest, Key, KeyDigest, KeyId, Task, TaskId, WebhookId,
};
use gatehouse_tasks::{
    AdminIdempotencyRecord, AuditRecord, BalancesAfter, DeploymentRecord, Hold, HoldId, IdempotencyRecord,
    JournalEntry, LedgerStorage, NameRecord, PriceVersion, ResponseRecord, ResponseTotals, StepRow, UsageKey,
    UsageSums, WebhookDelivery, WebhookEndpoint,
};
use redb::{AccessGuard, Key as RedbKey, ReadableTable, Table, TableHandle, WriteTransaction};
use serde::Serialize;

use crate::administration::idempotency::AdminIdempotencyTables;
use crate::error::StoreError;
use crate::layout::{self, Day, DigestKey, Row};
use crate::listing::step_tables::StepTables;
use crate::listing::task_index::{IndexedTask, TaskIndex};
use crate::records::write::RecordTables;
use crate::responses::ResponseTables;
use crate::row::{decode, encode};
use crate::statement::deposits::Deposits;
use crate::statement::write::NewEntries;
use crate::tables::find;
use crate::transaction::write_back::{HoldTables, WriteBack};
use crate::usage::write::NewUsage;
use crate::webhooks::write::WebhookTables;

type Rows<'txn, K> = Table<'txn, K, Row>;

/// The fixed tables, open for one transaction; tables of days are opened as they are needed.
pub(crate) struct Batch<'txn> {
    txn: &'txn WriteTransaction,
    days: BTreeSet<u32>,
    customers: Rows<'txn, &'static str>,
    keys: Rows<'txn, &'static str>,
    key_digests: Table<'txn, DigestKey, &'static str>,
    live: Rows<'txn, u128>,
    /// The live task that a command has read last: it is decoded once, not again for the index when the command changes it.
    last_read: RefCell<Option<(TaskId, IndexedTask)>>,
    task_index: TaskIndex<'txn>,
    steps: StepTables<'txn>,
    holds: HoldTables<'txn>,
    names: Rows<'txn, (&'static str, &'static str)>,
    name_owners: Table<'txn, &'static str, &'static str>,
    ledger: Rows<'txn, u64>,
    /// The position of the next ledger entry.
    next_entry: u64,
    idempotency: Rows<'txn, (&'static str, DigestKey)>,
    idempotency_expiry: Table<'txn, (u64, &'static str, DigestKey), ()>,
    audit: Rows<'txn, u64>,
    admin_idempotency: AdminIdempotencyTables<'txn>,
    responses: ResponseTables<'txn>,
    webhooks: WebhookTables<'txn>,
    records: RecordTables<'txn>,
    entries: NewEntries,
    deposits: Deposits,
    usage: NewUsage,
    write_back: WriteBack,
}

impl<'txn> Batch<'txn> {
    /// Opens every fixed table, making those that are missing.
    pub(crate) fn open(txn: &'txn WriteTransaction) -> Result<Self, StoreError> {
        let days = txn.list_tables()?.filter_map(|table| layout::history_day(&table)).collect();
        let ledger = txn.open_table(layout::LEDGER)?;
        let next_entry = ledger.last()?.map_or(0, |(position, _)| position.value().saturating_add(1));
        Ok(Self {
            txn,
            days,
            customers: txn.open_table(layout::CUSTOMERS)?,
            keys: txn.open_table(layout::KEYS)?,
            key_digests: txn.open_table(layout::KEY_DIGESTS)?,
            live: txn.open_table(layout::LIVE)?,
            last_read: RefCell::default(),
            task_index: TaskIndex::new(txn),
            steps: StepTables::new(txn),
            holds: HoldTables {
                rows: txn.open_table(layout::HOLDS)?,
                expiry: txn.open_table(layout::HOLD_EXPIRY)?,
            },
            names: txn.open_table(layout::NAMES)?,
            name_owners: txn.open_table(layout::NAME_OWNERS)?,
            ledger,
            next_entry,
            idempotency: txn.open_table(layout::IDEMPOTENCY)?,
            idempotency_expiry: txn.open_table(layout::IDEMPOTENCY_EXPIRY)?,
            audit: txn.open_table(layout::AUDIT)?,
            admin_idempotency: AdminIdempotencyTables::new(txn),
            responses: ResponseTables::new(txn),
            webhooks: WebhookTables::new(txn),
            records: RecordTables::new(txn),
            entries: NewEntries::default(),
            deposits: Deposits::default(),
            usage: NewUsage::default(),
            write_back: WriteBack::default(),
        })
    }

    /// Writes what is collected until the end of the transaction: one row for what many commands add to. The webhooks
    /// whose rows it wrote.
    pub(crate) fn close(&mut self) -> Result<BTreeSet<WebhookId>, StoreError> {
        let (customers, keys) = (&mut self.customers, &mut self.keys);
        mem::take(&mut self.write_back).write(self.txn, customers, keys, &mut self.holds)?;
        mem::take(&mut self.entries).write(self.txn)?;
        mem::take(&mut self.deposits).write(self.txn)?;
        mem::take(&mut self.usage).write(self.txn)?;
        Ok(self.webhooks.take_written())
    }

    /// Drops the history of all days before `day`, with the index and the logs of their tasks; how many days that were. A live
    /// task is listed in the day of its creation and will end there, so that day stays.
    pub(crate) fn drop_history(&mut self, day: u32) -> Result<usize, StoreError> {
        let oldest = self.live.first()?.map(|(id, _)| TaskId::from_bits(id.value()));
        let day = day.min(oldest.map_or(u32::MAX, |task| task.timestamp().day()));
        let kept = self.days.split_off(&day);
        let dropped = mem::replace(&mut self.days, kept);
        self.task_index.drop_before(day)?;
        self.steps.drop_before(day)?;
        for old in &dropped {
            self.txn.delete_table(Day::new(*old).history())?;
        }
        Ok(dropped.len())
    }

    /// What the row said that the command has read last, if it is that task's.
    fn take_read(&mut self, task: TaskId) -> Option<IndexedTask> {
        self.last_read.take().filter(|(id, _)| *id == task).map(|(_, read)| read)
    }
}

/// What the index holds of a live task before its change: as the command has read it, or as its row says.
fn indexed(read: Option<IndexedTask>, row: &AccessGuard<'_, Row>) -> Result<IndexedTask, StoreError> {
    read.map_or_else(|| decode("live", row.value()), Ok)
}

fn keep<'key, K: RedbKey + 'static, T: Serialize>(
    table: &mut Table<'_, K, Row>,
    key: K::SelfType<'key>,
    row: &T,
) -> Result<(), StoreError> {
    let bytes = encode(table.name(), row)?;
    table.insert(key, bytes.as_slice())?;
    Ok(())
}

impl LedgerStorage for Batch<'_> {
    type Error = StoreError;

    fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, StoreError> {
        match self.write_back.customer(id) {
            Some(customer) => Ok(Some(customer)),
            None => find("accounts", &self.customers, id.0.as_str()),
        }
    }
    fn put_customer(&mut self, customer: &Customer) -> Result<(), StoreError> {
        self.write_back.put_customer(customer);
        Ok(())
    }

    fn key(&self, id: &KeyId) -> Result<Option<Key>, StoreError> {
        match self.write_back.key(id) {
            Some(key) => Ok(Some(key)),
            None => find("keys", &self.keys, id.0.as_str()),
        }
    }
    fn key_of(&self, digest: &KeyDigest) -> Result<Option<KeyId>, StoreError> {
        Ok(self.key_digests.get(digest.0.0)?.map(|id| KeyId::from(id.value())))
    }
    fn put_key(&mut self, key: &Key) -> Result<(), StoreError> {
        // A key's digest never changes, and its `used` does with every hold: the look-up row is written once.
        if self.write_back.put_key(key) && self.keys.get(key.id.0.as_str())?.is_none() {
            self.key_digests.insert(key.digest.0.0, key.id.0.as_str())?;
        }
        Ok(())
    }

    fn live(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let task: Option<Task> = find("live", &self.live, id.bits())?;
        self.last_read.replace(task.as_ref().map(|task| (id, IndexedTask::of(task))));
        Ok(task)
    }
    fn finished(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let day = id.timestamp().day();
        // Opening a table to write makes it; a look-up must not.
        if !self.days.contains(&day) {
            return Ok(None);
        }
        let day = Day::new(day);
        let history = self.txn.open_table(day.history())?;
        find(history.name(), &history, id.bits())
    }
    fn put_live(&mut self, task: &Task) -> Result<(), StoreError> {
        let bytes = encode("live", task)?;
        let read = self.take_read(task.id);
        let before = self.live.insert(task.id.bits(), bytes.as_slice())?;
        let before = before.map(|row| indexed(read, &row)).transpose()?;
        self.task_index.put(task, before)
    }
    fn put_finished(&mut self, task: &Task) -> Result<(), StoreError> {
        let read = self.take_read(task.id);
        let before = self.live.remove(task.id.bits())?;
        let before = before.map(|row| indexed(read, &row)).transpose()?;
        self.task_index.put(task, before)?;
        let day = task.id.timestamp().day();
        self.days.insert(day);
        keep(&mut self.txn.open_table(Day::new(day).history())?, task.id.bits(), task)
    }
    fn step_rows(&mut self, day: u32) -> Result<u64, StoreError> {
        self.steps.rows(day)
    }
    fn put_steps(&mut self, row: &StepRow) -> Result<(), StoreError> {
        self.steps.put(row)
    }

    fn name_owner(&self, name: &str) -> Result<Option<CustomerId>, StoreError> {
        Ok(self.name_owners.get(name)?.map(|customer| CustomerId::from(customer.value())))
    }
    fn put_name(&mut self, record: &NameRecord) -> Result<(), StoreError> {
        let (customer, name) = (record.customer.0.as_str(), record.claim.name.as_str());
        self.name_owners.insert(name, customer)?;
        keep(&mut self.names, (customer, name), record)
    }

    fn hold(&self, id: HoldId) -> Result<Option<Hold>, StoreError> {
        self.write_back.hold(id, &self.holds)
    }
    fn put_hold(&mut self, hold: &Hold) -> Result<(), StoreError> {
        self.write_back.put_hold(hold, &mut self.holds)
    }
    fn remove_hold(&mut self, hold: &Hold) -> Result<(), StoreError> {
        self.write_back.remove_hold(hold, &mut self.holds)
    }

    fn idempotency_record(
        &self,
        key: &KeyId,
        token: &Digest,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        find("idempotency", &self.idempotency, (key.0.as_str(), token.0))
    }
    fn put_idempotency_record(&mut self, idempotency_record: &IdempotencyRecord) -> Result<(), StoreError> {
        let IdempotencyRecord { key, token, expires, .. } = idempotency_record;
        self.idempotency_expiry.insert((expires.0, key.0.as_str(), token.0), ())?;
        keep(&mut self.idempotency, (key.0.as_str(), token.0), idempotency_record)
    }
    fn remove_idempotency_record(
        &mut self,
        idempotency_record: &IdempotencyRecord,
    ) -> Result<(), StoreError> {
        let IdempotencyRecord { key, token, expires, .. } = idempotency_record;
        self.idempotency_expiry.remove((expires.0, key.0.as_str(), token.0))?;
        self.idempotency.remove((key.0.as_str(), token.0))?;
        Ok(())
    }

    fn admin_idempotency_record(&self, token: &Digest) -> Result<Option<AdminIdempotencyRecord>, StoreError> {
        self.admin_idempotency.find(token)
    }
    fn put_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord) -> Result<(), StoreError> {
        self.admin_idempotency.put(record)
    }
    fn remove_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord) -> Result<(), StoreError> {
        self.admin_idempotency.remove(record)
    }

    fn response(&self, customer: &CustomerId, id: &str) -> Result<Option<ResponseRecord>, StoreError> {
        self.responses.find(customer, id)
    }
    fn oldest_response(&self, customer: &CustomerId) -> Result<Option<ResponseRecord>, StoreError> {
        self.responses.oldest(customer)
    }
    fn response_totals(&self, customer: &CustomerId) -> Result<ResponseTotals, StoreError> {
        self.responses.totals(customer)
    }
    fn put_response(&mut self, record: &ResponseRecord) -> Result<(), StoreError> {
        self.responses.put(record)
    }
    fn remove_response(&mut self, record: &ResponseRecord) -> Result<(), StoreError> {
        self.responses.remove(record)
    }

    fn webhook(&self, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError> {
        self.webhooks.find(id)
    }
    fn webhooks_of(&self, customer: &CustomerId) -> Result<Vec<WebhookEndpoint>, StoreError> {
        self.webhooks.of(customer)
    }
    fn put_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), StoreError> {
        self.webhooks.put(webhook)
    }
    fn remove_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), StoreError> {
        self.webhooks.remove(webhook)
    }
    fn delivery(&self, id: DeliveryId) -> Result<Option<WebhookDelivery>, StoreError> {
        self.webhooks.delivery(id)
    }
    fn oldest_pending_delivery(&self, webhook: WebhookId) -> Result<Option<WebhookDelivery>, StoreError> {
        self.webhooks.oldest_pending(webhook)
    }
    fn put_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), StoreError> {
        self.webhooks.put_delivery(delivery)
    }
    fn remove_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), StoreError> {
        self.webhooks.remove_delivery(delivery)
    }

    fn newest_price_book(&self) -> Result<Option<PriceVersion>, StoreError> {
        self.records.newest_price_book()
    }
    fn put_price_book(&mut self, book: &PriceVersion, below: u64) -> Result<(), StoreError> {
        self.records.put_price_book(book, below)
    }
    fn newest_deployment(&self) -> Result<u64, StoreError> {
        self.records.newest_deployment()
    }
    fn put_deployment(&mut self, row: &DeploymentRecord, below: u64) -> Result<(), StoreError> {
        self.records.put_deployment(row, below)
    }

    fn append(&mut self, entry: &JournalEntry, after: BalancesAfter) -> Result<u64, StoreError> {
        let position = self.next_entry;
        keep(&mut self.ledger, position, entry)?;
        self.entries.add(position, entry, after);
        self.deposits.add(entry);
        self.next_entry = position.saturating_add(1);
        Ok(position)
    }

    fn add_usage(&mut self, key: UsageKey, sums: UsageSums) -> Result<(), StoreError> {
        self.usage.add(key, &sums);
        Ok(())
    }

    fn append_audit(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        let next = self.audit.last()?.map_or(0, |(seq, _)| seq.value().saturating_add(1));
        keep(&mut self.audit, next, record)
    }
}
