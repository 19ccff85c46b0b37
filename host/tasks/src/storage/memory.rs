//! Ledger storage in memory: for tests and simulations, and the reference for other implementations.

use std::collections::BTreeMap;
use std::convert::Infallible;

use gatehouse_model::{
    Claim, Customer, CustomerId, DeliveryId, Digest, Key, KeyDigest, KeyId, Task, TaskId, UnixMs, WebhookId,
};

use crate::administration::record::AdminIdempotencyRecord;
use crate::commands::expired_row::{ExpiredRow, ExpiredRows};
use crate::ledger::examination::{Examination, Report};
use crate::ledger::hold::{Hold, HoldId};
use crate::ledger::journal_entry::JournalEntry;
use crate::records::record::{DeploymentRecord, PriceVersion};
use crate::responses::record::{ResponseRecord, ResponseTotals};
use crate::steps::record::StepRow;
use crate::storage::ledger_storage::{
    AuditRecord, BalancesAfter, IdempotencyRecord, LedgerStorage, NameRecord,
};
use crate::storage::memory_records::MemoryRecords;
use crate::storage::memory_webhooks::MemoryWebhooks;
use crate::usage::sums::{UsageKey, UsageSums};
use crate::webhooks::record::{WebhookDelivery, WebhookEndpoint};
use crate::webhooks::schedule::is_old;

/// Rows in memory. Cannot fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLedgerStorage {
    customers: BTreeMap<CustomerId, Customer>,
    keys: BTreeMap<KeyId, Key>,
    live: BTreeMap<TaskId, Task>,
    history: BTreeMap<u32, BTreeMap<TaskId, Task>>,
    steps: BTreeMap<(u32, TaskId, u64), StepRow>,
    step_rows_before: u64,
    holds: BTreeMap<HoldId, Hold>,
    idempotency_records: BTreeMap<(KeyId, Digest), IdempotencyRecord>,
    admin_idempotency_records: BTreeMap<Digest, AdminIdempotencyRecord>,
    names: BTreeMap<(CustomerId, String), NameRecord>,
    name_owners: BTreeMap<String, CustomerId>,
    responses: BTreeMap<(CustomerId, String), ResponseRecord>,
    ledger: Vec<JournalEntry>,
    balances_after: Vec<BalancesAfter>,
    usage: BTreeMap<UsageKey, UsageSums>,
    audit_records: Vec<AuditRecord>,
    webhooks: MemoryWebhooks,
    records: MemoryRecords,
}

impl MemoryLedgerStorage {
    /// All customers.
    pub fn customers(&self) -> impl Iterator<Item = &Customer> {
        self.customers.values()
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.values()
    }

    /// All live tasks, by creation.
    pub fn live_tasks(&self) -> impl Iterator<Item = &Task> {
        self.live.values()
    }

    /// All ended tasks still in history, by creation.
    pub fn finished_tasks(&self) -> impl Iterator<Item = &Task> {
        self.history.values().flat_map(BTreeMap::values)
    }

    /// Counts so many more rows in the logs of every day: for tests of their bound.
    pub fn count_step_rows(&mut self, rows: u64) {
        self.step_rows_before = rows;
    }

    /// The rows of a task's log, oldest first.
    #[must_use]
    pub fn steps(&self, task: TaskId) -> Vec<&StepRow> {
        let mut rows: Vec<&StepRow> = self.steps.values().filter(|row| row.task == task).collect();
        rows.sort_by_key(|row| row.revision);
        rows
    }

    /// All open holds.
    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.values()
    }

    /// Everything remembered of submissions.
    pub fn idempotency_records(&self) -> impl Iterator<Item = &IdempotencyRecord> {
        self.idempotency_records.values()
    }

    /// Everything remembered of operators' requests.
    pub fn admin_idempotency_records(&self) -> impl Iterator<Item = &AdminIdempotencyRecord> {
        self.admin_idempotency_records.values()
    }

    /// All versions of the price book, by number.
    pub fn price_books(&self) -> impl Iterator<Item = &PriceVersion> {
        self.records.price_books.values()
    }

    /// All reports of deployments, by number.
    pub fn deployments(&self) -> impl Iterator<Item = &DeploymentRecord> {
        self.records.deployments.values()
    }

    /// All names, by customer.
    pub fn names(&self) -> impl Iterator<Item = &NameRecord> {
        self.names.values()
    }

    /// Those of the names that the customer owns, in the order asked.
    #[must_use]
    pub fn owned_names(&self, customer: &CustomerId, names: &[impl AsRef<str>]) -> Vec<Claim> {
        let record = |name: &str| self.names.get(&(customer.clone(), name.to_owned()));
        names.iter().filter_map(|name| Some(record(name.as_ref())?.claim.clone())).collect()
    }

    /// All kept responses, by customer and id.
    pub fn responses(&self) -> impl Iterator<Item = &ResponseRecord> {
        self.responses.values()
    }

    /// The ledger, in order.
    #[must_use]
    pub fn ledger(&self) -> &[JournalEntry] {
        &self.ledger
    }

    /// The balances that each row of the ledger led to, in order.
    #[must_use]
    pub fn balances_after(&self) -> &[BalancesAfter] {
        &self.balances_after
    }

    /// The sums of usage of every hour, by customer, key, hour and model.
    pub fn usage(&self) -> impl Iterator<Item = (&UsageKey, &UsageSums)> {
        self.usage.iter()
    }

    /// The audit record, in order.
    #[must_use]
    pub fn audit_records(&self) -> &[AuditRecord] {
        &self.audit_records
    }

    /// All webhooks, by id.
    pub fn webhooks(&self) -> impl Iterator<Item = &WebhookEndpoint> {
        self.webhooks.webhooks.values()
    }

    /// All deliveries, by id.
    pub fn deliveries(&self) -> impl Iterator<Item = &WebhookDelivery> {
        self.webhooks.deliveries.values()
    }

    /// The rows whose time is over at that moment, each kind the oldest first.
    #[must_use]
    pub fn expired(&self, now: UnixMs) -> ExpiredRows {
        let mut rows: Vec<(UnixMs, Option<CustomerId>, ExpiredRow)> = Vec::new();
        for hold in self.holds.values() {
            if let HoldId::Request(id) = hold.id {
                rows.push((hold.expires, Some(hold.customer.clone()), ExpiredRow::Hold(id)));
            }
        }
        for row in self.idempotency_records.values() {
            let customer = self.keys.get(&row.key).map(|key| key.customer.clone());
            let (key, token) = (row.key.clone(), row.token);
            rows.push((row.expires, customer, ExpiredRow::Idempotency { key, token }));
        }
        for row in self.admin_idempotency_records.values() {
            rows.push((row.expires, None, ExpiredRow::AdminIdempotency(row.token)));
        }
        for row in self.responses.values() {
            rows.push((row.expires, Some(row.customer.clone()), ExpiredRow::Response(row.id.clone())));
        }
        rows.retain(|(expires, ..)| *expires <= now);
        rows.sort_by_key(|(expires, ..)| *expires);
        let deliveries = self.deliveries().filter(|row| is_old(row.id, now));
        let deliveries = deliveries.map(|row| (Some(row.customer.clone()), ExpiredRow::Delivery(row.id)));
        rows.into_iter().map(|(_, customer, row)| (customer, row)).chain(deliveries).collect()
    }

    /// Drops the history of all days before `day`, with the logs of their tasks; how many days that were. A live task will end
    /// in the day of its creation, so that day stays.
    pub fn drop_history(&mut self, day: u32) -> usize {
        let needed = self.live.keys().next().map_or(u32::MAX, |task| task.timestamp().day());
        let day = day.min(needed);
        self.steps.retain(|(of, ..), _| *of >= day);
        let kept = self.history.split_off(&day);
        std::mem::replace(&mut self.history, kept).len()
    }

    /// Re-sums everything.
    #[must_use]
    pub fn examine(&self) -> Report {
        let mut examination = Examination::default();
        for (at, mark) in self.audit_records.iter().filter_map(|record| Some((record.at, record.mark?))) {
            examination.mark(at, mark);
        }
        self.ledger.iter().for_each(|entry| examination.entry(entry));
        self.customers().for_each(|customer| examination.customer(customer));
        self.keys().for_each(|key| examination.key(key));
        self.holds().for_each(|hold| examination.hold(hold));
        self.live_tasks().for_each(|task| examination.live(task));
        self.finished_tasks().for_each(|task| examination.finished(task));
        for record in self.names() {
            examination.name(record, self.name_owners.get(&record.claim.name));
        }
        for (key, sums) in self.usage() {
            examination.usage(&key.customer, &key.key, key.day(), sums);
        }
        examination.name_owners(self.name_owners.len() as u64);
        examination.report()
    }
}

impl LedgerStorage for MemoryLedgerStorage {
    type Error = Infallible;

    fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, Infallible> {
        Ok(self.customers.get(id).cloned())
    }
    fn put_customer(&mut self, customer: &Customer) -> Result<(), Infallible> {
        self.customers.insert(customer.id.clone(), customer.clone());
        Ok(())
    }

    fn key(&self, id: &KeyId) -> Result<Option<Key>, Infallible> {
        Ok(self.keys.get(id).cloned())
    }
    fn key_of(&self, digest: &KeyDigest) -> Result<Option<KeyId>, Infallible> {
        Ok(self.keys.values().find(|key| key.digest == *digest).map(|key| key.id.clone()))
    }
    fn put_key(&mut self, key: &Key) -> Result<(), Infallible> {
        self.keys.insert(key.id.clone(), key.clone());
        Ok(())
    }

    fn live(&self, id: TaskId) -> Result<Option<Task>, Infallible> {
        Ok(self.live.get(&id).cloned())
    }
    fn finished(&self, id: TaskId) -> Result<Option<Task>, Infallible> {
        Ok(self.history.get(&id.timestamp().day()).and_then(|day| day.get(&id)).cloned())
    }
    fn put_live(&mut self, task: &Task) -> Result<(), Infallible> {
        self.live.insert(task.id, task.clone());
        Ok(())
    }
    fn put_finished(&mut self, task: &Task) -> Result<(), Infallible> {
        self.live.remove(&task.id);
        self.history.entry(task.id.timestamp().day()).or_default().insert(task.id, task.clone());
        Ok(())
    }
    fn step_rows(&mut self, day: u32) -> Result<u64, Infallible> {
        Ok(self.steps.keys().filter(|(of, ..)| *of == day).count() as u64 + self.step_rows_before)
    }
    fn put_steps(&mut self, row: &StepRow) -> Result<(), Infallible> {
        let day = row.task.timestamp().day();
        self.steps.insert((day, row.task, StepRow::position(row.revision)), row.clone());
        Ok(())
    }

    fn name_owner(&self, name: &str) -> Result<Option<CustomerId>, Infallible> {
        Ok(self.name_owners.get(name).cloned())
    }
    fn put_name(&mut self, record: &NameRecord) -> Result<(), Infallible> {
        let NameRecord { customer, claim, .. } = record;
        self.name_owners.insert(claim.name.clone(), customer.clone());
        self.names.insert((customer.clone(), claim.name.clone()), record.clone());
        Ok(())
    }

    fn hold(&self, id: HoldId) -> Result<Option<Hold>, Infallible> {
        Ok(self.holds.get(&id).cloned())
    }
    fn put_hold(&mut self, hold: &Hold) -> Result<(), Infallible> {
        self.holds.insert(hold.id, hold.clone());
        Ok(())
    }
    fn remove_hold(&mut self, hold: &Hold) -> Result<(), Infallible> {
        self.holds.remove(&hold.id);
        Ok(())
    }

    fn idempotency_record(
        &self,
        key: &KeyId,
        token: &Digest,
    ) -> Result<Option<IdempotencyRecord>, Infallible> {
        Ok(self.idempotency_records.get(&(key.clone(), *token)).cloned())
    }
    fn put_idempotency_record(&mut self, idempotency_record: &IdempotencyRecord) -> Result<(), Infallible> {
        let IdempotencyRecord { key, token, .. } = idempotency_record;
        self.idempotency_records.insert((key.clone(), *token), idempotency_record.clone());
        Ok(())
    }
    fn remove_idempotency_record(
        &mut self,
        idempotency_record: &IdempotencyRecord,
    ) -> Result<(), Infallible> {
        let IdempotencyRecord { key, token, .. } = idempotency_record;
        self.idempotency_records.remove(&(key.clone(), *token));
        Ok(())
    }

    fn admin_idempotency_record(&self, token: &Digest) -> Result<Option<AdminIdempotencyRecord>, Infallible> {
        Ok(self.admin_idempotency_records.get(token).cloned())
    }
    fn put_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord) -> Result<(), Infallible> {
        self.admin_idempotency_records.insert(record.token, record.clone());
        Ok(())
    }
    fn remove_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord) -> Result<(), Infallible> {
        self.admin_idempotency_records.remove(&record.token);
        Ok(())
    }

    fn response(&self, customer: &CustomerId, id: &str) -> Result<Option<ResponseRecord>, Infallible> {
        Ok(self.responses.get(&(customer.clone(), id.to_owned())).cloned())
    }
    fn oldest_response(&self, customer: &CustomerId) -> Result<Option<ResponseRecord>, Infallible> {
        let own = self.responses.values().filter(|record| record.customer == *customer);
        Ok(own.min_by_key(|record| (record.kept, &record.id)).cloned())
    }
    fn response_totals(&self, customer: &CustomerId) -> Result<ResponseTotals, Infallible> {
        let own = self.responses.values().filter(|record| record.customer == *customer);
        Ok(own.fold(ResponseTotals::default(), ResponseTotals::with))
    }
    fn put_response(&mut self, record: &ResponseRecord) -> Result<(), Infallible> {
        self.responses.insert((record.customer.clone(), record.id.clone()), record.clone());
        Ok(())
    }
    fn remove_response(&mut self, record: &ResponseRecord) -> Result<(), Infallible> {
        self.responses.remove(&(record.customer.clone(), record.id.clone()));
        Ok(())
    }

    fn webhook(&self, id: WebhookId) -> Result<Option<WebhookEndpoint>, Infallible> {
        Ok(self.webhooks.webhooks.get(&id).cloned())
    }
    fn webhooks_of(&self, customer: &CustomerId) -> Result<Vec<WebhookEndpoint>, Infallible> {
        Ok(self.webhooks.of(customer))
    }
    fn put_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), Infallible> {
        self.webhooks.webhooks.insert(webhook.id, webhook.clone());
        Ok(())
    }
    fn remove_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), Infallible> {
        self.webhooks.webhooks.remove(&webhook.id);
        Ok(())
    }
    fn delivery(&self, id: DeliveryId) -> Result<Option<WebhookDelivery>, Infallible> {
        Ok(self.webhooks.deliveries.get(&id).cloned())
    }
    fn oldest_pending_delivery(&self, webhook: WebhookId) -> Result<Option<WebhookDelivery>, Infallible> {
        Ok(self.webhooks.oldest_pending(webhook))
    }
    fn put_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), Infallible> {
        self.webhooks.deliveries.insert(delivery.id, delivery.clone());
        Ok(())
    }
    fn remove_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), Infallible> {
        self.webhooks.deliveries.remove(&delivery.id);
        Ok(())
    }

    fn newest_price_book(&self) -> Result<Option<PriceVersion>, Infallible> {
        Ok(self.records.price_books.values().next_back().cloned())
    }
    fn put_price_book(&mut self, book: &PriceVersion, below: u64) -> Result<(), Infallible> {
        self.records.put_price_book(book, below);
        Ok(())
    }
    fn newest_deployment(&self) -> Result<u64, Infallible> {
        Ok(self.records.deployments.keys().next_back().copied().unwrap_or(0))
    }
    fn put_deployment(&mut self, row: &DeploymentRecord, below: u64) -> Result<(), Infallible> {
        self.records.put_deployment(row, below);
        Ok(())
    }

    fn append(&mut self, entry: &JournalEntry, after: BalancesAfter) -> Result<u64, Infallible> {
        self.ledger.push(entry.clone());
        self.balances_after.push(after);
        Ok(self.ledger.len() as u64 - 1)
    }
    fn add_usage(&mut self, key: UsageKey, sums: UsageSums) -> Result<(), Infallible> {
        self.usage.entry(key).or_default().add(&sums);
        Ok(())
    }

    fn append_audit(&mut self, record: &AuditRecord) -> Result<(), Infallible> {
        self.audit_records.push(record.clone());
        Ok(())
    }
}
