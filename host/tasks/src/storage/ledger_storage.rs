//! The rows that a command may read and write, independent of the store.
//!
//! [`LedgerStorage`] is row access and nothing more: it holds no rule. What a command asks is a row by its key or the first of a
//! list, so an implementation knows neither customers nor tasks.

use gatehouse_model::{
    Claim, Credits, Customer, CustomerId, DeliveryId, Digest, Key, KeyDigest, KeyId, Task, TaskId, UnixMs,
    WebhookId,
};
use serde::{Deserialize, Serialize};

use crate::records::administration::{AdminIdempotencyRecord, AuditedRequest};
use crate::records::hold::{Hold, HoldId};
use crate::records::journal_entry::JournalEntry;
use crate::records::mark::LedgerMark;
use crate::records::operator::{DeploymentRecord, PriceVersion};
use crate::records::response::{ResponseRecord, ResponseTotals};
use crate::records::step::{MAX_STEP_ROWS, StepRow};
use crate::records::usage::{UsageKey, UsageSums};
use crate::records::webhook::{WebhookDelivery, WebhookEndpoint};
use crate::storage::row::{Kind, List, Row, RowKey, Series};

/// What is remembered of a submission that came with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// The API key; tokens of different keys never meet.
    pub key: KeyId,
    /// The digest of the client's token.
    pub token: Digest,
    /// The digest of the request.
    pub fingerprint: Digest,
    /// The task it made.
    pub task: TaskId,
    /// From when on it counts as absent.
    pub expires: UnixMs,
}

/// One line of the audit record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When.
    pub at: UnixMs,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What happened, for the operator.
    pub text: String,
    /// The operator's request it is about; none for a decision of the gateway itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<AuditedRequest>,
    /// What it says of the whole ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<LedgerMark>,
}

/// A name that a customer owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRecord {
    /// Who owns it.
    pub customer: CustomerId,
    /// The name and what was claimed with it.
    pub claim: Claim,
    /// The task that claimed it last; its record may be gone.
    pub task: TaskId,
    /// When.
    pub claimed: UnixMs,
}

/// The balances that a ledger row leads to: the running balances of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancesAfter {
    /// What its customer has free.
    pub available: Credits,
    /// What its key has used, where it has a key: the sum of that key's own rows, without those of keys it replaced.
    pub used: Option<Credits>,
}

/// Row access. Every `put` replaces the row of the same id; every `remove` of an absent row does nothing.
pub trait LedgerStorage {
    /// Why rows cannot be read or written. The command changes nothing when this happens.
    type Error;

    /// Reads the row of that key.
    fn read<T>(&self, key: &RowKey, read: impl FnOnce(Option<&Row>) -> T) -> Result<T, Self::Error>;
    /// The first row of a list.
    fn first<T: Kind>(&self, list: &List) -> Result<Option<T>, Self::Error>;
    /// Keeps a row instead of the one of that key, or forgets that.
    fn set(&mut self, key: RowKey, row: Option<Row>) -> Result<(), Self::Error>;
    /// A command begins here.
    fn begin(&mut self);
    /// Undoes what was set since a command began.
    fn undo(&mut self);

    /// The row of that key.
    fn find<T: Kind>(&self, key: &RowKey) -> Result<Option<T>, Self::Error> {
        self.read(key, |row| row.and_then(T::of).cloned())
    }
    /// Keeps a row.
    fn put(&mut self, key: RowKey, row: impl Into<Row>) -> Result<(), Self::Error> {
        self.set(key, Some(row.into()))
    }
    /// Counts a series up; the position of its next row, whose first one is `first`.
    fn next(&mut self, series: Series, first: u64) -> Result<u64, Self::Error> {
        let newest = self.newest(series)?;
        let next = newest.map_or(first, |newest| newest.saturating_add(1));
        self.put(RowKey::Newest(series), next)?;
        Ok(next)
    }
    /// The position of the newest row of a series.
    fn newest(&self, series: Series) -> Result<Option<u64>, Self::Error> {
        self.find(&RowKey::Newest(series))
    }

    /// The customer of that id.
    fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, Self::Error> {
        self.find(&RowKey::Customer(id.clone()))
    }
    /// Keeps a customer.
    fn put_customer(&mut self, customer: &Customer) -> Result<(), Self::Error> {
        self.put(RowKey::Customer(customer.id.clone()), customer.clone())
    }

    /// The key of that id.
    fn key(&self, id: &KeyId) -> Result<Option<Key>, Self::Error> {
        self.find(&RowKey::Key(id.clone()))
    }
    /// The id of the key with that digest.
    fn key_of(&self, digest: &KeyDigest) -> Result<Option<KeyId>, Self::Error> {
        self.find(&RowKey::KeyDigest(digest.0))
    }
    /// Keeps a key, and lets it be found by its digest, which never changes.
    fn put_key(&mut self, key: &Key) -> Result<(), Self::Error> {
        let row = RowKey::Key(key.id.clone());
        if !self.read(&row, |row| row.is_some())? {
            self.put(RowKey::KeyDigest(key.digest.0), key.id.clone())?;
        }
        self.put(row, key.clone())
    }

    /// The task of that id, if it has not ended.
    fn live(&self, id: TaskId) -> Result<Option<Task>, Self::Error> {
        Ok(self.find(&RowKey::Task(id))?.filter(|task: &Task| !task.status.is_final()))
    }
    /// The task of that id, if it has ended and is still in history.
    fn finished(&self, id: TaskId) -> Result<Option<Task>, Self::Error> {
        Ok(self.find(&RowKey::Task(id))?.filter(|task: &Task| task.status.is_final()))
    }
    /// Keeps a task, among the live ones or in the history of the day of its creation. Its owner finds it by status and model.
    fn put_task(&mut self, task: &Task) -> Result<(), Self::Error> {
        self.put(RowKey::Task(task.id), task.clone())
    }
    /// Rows of the logs of all tasks created on that day.
    fn step_rows(&self, day: u32) -> Result<u64, Self::Error> {
        Ok(self.find(&RowKey::StepCount(day))?.unwrap_or(0))
    }
    /// Keeps a row of a task's log at its [`StepRow::position`], instead of one that is there.
    fn put_steps(&mut self, row: &StepRow) -> Result<(), Self::Error> {
        // Later rows take the places of earlier ones.
        if row.revision < MAX_STEP_ROWS {
            let day = row.task.timestamp().day();
            let rows = self.step_rows(day)?;
            self.put(RowKey::StepCount(day), rows.saturating_add(1))?;
        }
        self.put(RowKey::Steps(row.task, StepRow::position(row.revision)), row.clone())
    }

    /// The customer that owns a name.
    fn name_owner(&self, name: &str) -> Result<Option<CustomerId>, Self::Error> {
        let record: Option<NameRecord> = self.find(&RowKey::Name(name.to_owned()))?;
        Ok(record.map(|record| record.customer))
    }
    /// Keeps a name under its customer, and lets the customer be found by it. The name is no other customer's.
    fn put_name(&mut self, record: &NameRecord) -> Result<(), Self::Error> {
        self.put(RowKey::Name(record.claim.name.clone()), record.clone())
    }

    /// The open hold of that id.
    fn hold(&self, id: HoldId) -> Result<Option<Hold>, Self::Error> {
        self.find(&RowKey::Hold(id))
    }
    /// Keeps an open hold.
    fn put_hold(&mut self, hold: &Hold) -> Result<(), Self::Error> {
        self.put(RowKey::Hold(hold.id), hold.clone())
    }
    /// Forgets a hold.
    fn remove_hold(&mut self, hold: &Hold) -> Result<(), Self::Error> {
        self.set(RowKey::Hold(hold.id), None)
    }

    /// What is remembered of that token of that key, expired or not.
    fn idempotency_record(
        &self,
        key: &KeyId,
        token: &Digest,
    ) -> Result<Option<IdempotencyRecord>, Self::Error> {
        self.find(&RowKey::Idempotency(key.clone(), *token))
    }
    /// Remembers a submission.
    fn put_idempotency_record(&mut self, record: &IdempotencyRecord) -> Result<(), Self::Error> {
        self.put(RowKey::Idempotency(record.key.clone(), record.token), record.clone())
    }
    /// Forgets a submission.
    fn remove_idempotency_record(&mut self, record: &IdempotencyRecord) -> Result<(), Self::Error> {
        self.set(RowKey::Idempotency(record.key.clone(), record.token), None)
    }

    /// What is remembered of an operator's request with that token, expired or not.
    fn admin_idempotency_record(
        &self,
        token: &Digest,
    ) -> Result<Option<AdminIdempotencyRecord>, Self::Error> {
        self.find(&RowKey::AdminIdempotency(*token))
    }
    /// Remembers an operator's request.
    fn put_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord) -> Result<(), Self::Error> {
        self.put(RowKey::AdminIdempotency(record.token), record.clone())
    }
    /// Forgets an operator's request.
    fn remove_admin_idempotency_record(
        &mut self,
        record: &AdminIdempotencyRecord,
    ) -> Result<(), Self::Error> {
        self.set(RowKey::AdminIdempotency(record.token), None)
    }

    /// A customer's kept response of that id, expired or not.
    fn response(&self, customer: &CustomerId, id: &str) -> Result<Option<ResponseRecord>, Self::Error> {
        self.find(&RowKey::Response(customer.clone(), id.to_owned()))
    }
    /// The one that the customer has kept longest.
    fn oldest_response(&self, customer: &CustomerId) -> Result<Option<ResponseRecord>, Self::Error> {
        self.first(&List::Responses(customer.clone()))
    }
    /// What the customer keeps altogether.
    fn response_totals(&self, customer: &CustomerId) -> Result<ResponseTotals, Self::Error> {
        Ok(self.find(&RowKey::ResponseTotals(customer.clone()))?.unwrap_or_default())
    }
    /// Keeps a response, whose id is no other row's, and lets it be found by the items of its output.
    fn put_response(&mut self, record: &ResponseRecord) -> Result<(), Self::Error> {
        let totals = self.response_totals(&record.customer)?.with(record);
        self.put(RowKey::ResponseTotals(record.customer.clone()), totals)?;
        self.put(RowKey::Response(record.customer.clone(), record.id.clone()), record.clone())
    }
    /// Forgets a response that is there.
    fn remove_response(&mut self, record: &ResponseRecord) -> Result<(), Self::Error> {
        let totals = self.response_totals(&record.customer)?.without(record);
        let totals = (totals.count > 0).then(|| totals.into());
        self.set(RowKey::ResponseTotals(record.customer.clone()), totals)?;
        self.set(RowKey::Response(record.customer.clone(), record.id.clone()), None)
    }

    /// The webhook of that id.
    fn webhook(&self, id: WebhookId) -> Result<Option<WebhookEndpoint>, Self::Error> {
        self.find(&RowKey::Webhook(id))
    }
    /// All webhooks of a customer, by id. Of one without any it is one look-up.
    fn webhooks_of(&self, customer: &CustomerId) -> Result<Vec<WebhookEndpoint>, Self::Error> {
        let ids: Option<Vec<WebhookId>> = self.find(&RowKey::WebhooksOf(customer.clone()))?;
        let rows = ids.into_iter().flatten().map(|id| self.webhook(id));
        rows.filter_map(Result::transpose).collect()
    }
    /// Keeps a webhook. Its sender looks at what waits for it.
    fn put_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), Self::Error> {
        self.list_webhook(webhook, true)?;
        self.put(RowKey::Webhook(webhook.id), webhook.clone())
    }
    /// Forgets a webhook, not its deliveries.
    fn remove_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), Self::Error> {
        self.list_webhook(webhook, false)?;
        self.set(RowKey::Webhook(webhook.id), None)
    }
    /// Lists a webhook among its customer's, or takes it off.
    fn list_webhook(&mut self, webhook: &WebhookEndpoint, is_listed: bool) -> Result<(), Self::Error> {
        let key = RowKey::WebhooksOf(webhook.customer.clone());
        let mut ids: Vec<WebhookId> = self.find(&key)?.unwrap_or_default();
        match (ids.binary_search(&webhook.id), is_listed) {
            (Err(place), true) => ids.insert(place, webhook.id),
            (Ok(place), false) => drop(ids.remove(place)),
            _ => return Ok(()),
        }
        self.set(key, (!ids.is_empty()).then(|| ids.into()))
    }
    /// The delivery of that id.
    fn delivery(&self, id: DeliveryId) -> Result<Option<WebhookDelivery>, Self::Error> {
        self.find(&RowKey::Delivery(id))
    }
    /// The oldest delivery that waits for a webhook.
    fn oldest_pending_delivery(&self, webhook: WebhookId) -> Result<Option<WebhookDelivery>, Self::Error> {
        self.first(&List::Pending(webhook))
    }
    /// Keeps a delivery, and lets it be found by when it is due.
    fn put_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), Self::Error> {
        self.put(RowKey::Delivery(delivery.id), delivery.clone())
    }
    /// Forgets a delivery.
    fn remove_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), Self::Error> {
        self.set(RowKey::Delivery(delivery.id), None)
    }

    /// The newest version of the price book.
    fn newest_price_book(&self) -> Result<Option<PriceVersion>, Self::Error> {
        let Some(newest) = self.newest(Series::PriceBooks)? else { return Ok(None) };
        self.find(&RowKey::PriceBook(newest))
    }
    /// Keeps the next version of the price book by its number, and forgets the one before a number.
    fn put_price_book(&mut self, book: &PriceVersion, below: u64) -> Result<(), Self::Error> {
        self.put(RowKey::Newest(Series::PriceBooks), book.number)?;
        self.set(RowKey::PriceBook(below.saturating_sub(1)), None)?;
        self.put(RowKey::PriceBook(book.number), book.clone())
    }
    /// The number of the newest report of a deployment; zero without any.
    fn newest_deployment(&self) -> Result<u64, Self::Error> {
        Ok(self.newest(Series::Deployments)?.unwrap_or(0))
    }
    /// Keeps the next report of a deployment by its number, and forgets the one before a number.
    fn put_deployment(&mut self, row: &DeploymentRecord, below: u64) -> Result<(), Self::Error> {
        self.put(RowKey::Newest(Series::Deployments), row.number)?;
        self.set(RowKey::Deployment(below.saturating_sub(1)), None)?;
        self.put(RowKey::Deployment(row.number), row.clone())
    }

    /// Appends an entry, and tells its position. Its customer and its key find it, with these balances.
    fn append(&mut self, entry: &JournalEntry, after: BalancesAfter) -> Result<u64, Self::Error> {
        let position = self.next(Series::Ledger, 0)?;
        self.put(RowKey::Entry(position), (entry.clone(), after))?;
        Ok(position)
    }
    /// Adds to the sums of usage of that hour and of its day.
    fn add_usage(&mut self, key: UsageKey, sums: UsageSums) -> Result<(), Self::Error> {
        let key = RowKey::Usage(key);
        let mut all: UsageSums = self.find(&key)?.unwrap_or_default();
        all.add(&sums);
        self.put(key, all)
    }

    /// Appends to the audit record.
    fn append_audit(&mut self, record: &AuditRecord) -> Result<(), Self::Error> {
        let position = self.next(Series::Audit, 0)?;
        self.put(RowKey::Audit(position), record.clone())
    }
}
