//! The rows that a command may read and write, independent of the store.
//!
//! [`LedgerStorage`] is row access and nothing more: it holds no rule, so two implementations cannot disagree
//! about rules. An implementation reads its own writes within one batch, and maintains its own indexes.

use gatehouse_model::{
    Claim, Credits, Customer, CustomerId, DeliveryId, Digest, Key, KeyDigest, KeyId, Task, TaskId, UnixMs,
    WebhookId,
};
use serde::{Deserialize, Serialize};

use crate::administration::record::{AdminIdempotencyRecord, AuditedRequest};
use crate::ledger::hold::{Hold, HoldId};
use crate::ledger::journal_entry::JournalEntry;
use crate::ledger::mark::LedgerMark;
use crate::records::record::{DeploymentRecord, PriceVersion};
use crate::responses::record::{ResponseRecord, ResponseTotals};
use crate::steps::record::StepRow;
use crate::usage::sums::{UsageKey, UsageSums};
use crate::webhooks::record::{WebhookDelivery, WebhookEndpoint};

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
    /// Why rows cannot be read or written. The batch is lost when this happens.
    type Error;

    /// The customer of that id.
    fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, Self::Error>;
    /// Keeps a customer.
    fn put_customer(&mut self, customer: &Customer) -> Result<(), Self::Error>;

    /// The key of that id.
    fn key(&self, id: &KeyId) -> Result<Option<Key>, Self::Error>;
    /// The id of the key with that digest.
    fn key_of(&self, digest: &KeyDigest) -> Result<Option<KeyId>, Self::Error>;
    /// Keeps a key, and lets it be found by its digest.
    fn put_key(&mut self, key: &Key) -> Result<(), Self::Error>;

    /// The task of that id, if it has not ended.
    fn live(&self, id: TaskId) -> Result<Option<Task>, Self::Error>;
    /// The task of that id, if it has ended and is still in history.
    fn finished(&self, id: TaskId) -> Result<Option<Task>, Self::Error>;
    /// Keeps a live task. Its owner finds it by status and model.
    fn put_live(&mut self, task: &Task) -> Result<(), Self::Error>;
    /// Moves a task from the live ones into the history of the day of its creation.
    fn put_finished(&mut self, task: &Task) -> Result<(), Self::Error>;
    /// Rows of the logs of all tasks created on that day.
    fn step_rows(&mut self, day: u32) -> Result<u64, Self::Error>;
    /// Keeps a row of a task's log at its [`StepRow::position`], instead of one that is there.
    fn put_steps(&mut self, row: &StepRow) -> Result<(), Self::Error>;

    /// The customer that owns a name.
    fn name_owner(&self, name: &str) -> Result<Option<CustomerId>, Self::Error>;
    /// Keeps a name under its customer, and lets the customer be found by it. The name is no other customer's.
    fn put_name(&mut self, record: &NameRecord) -> Result<(), Self::Error>;

    /// The open hold of that id.
    fn hold(&self, id: HoldId) -> Result<Option<Hold>, Self::Error>;
    /// Keeps an open hold.
    fn put_hold(&mut self, hold: &Hold) -> Result<(), Self::Error>;
    /// Forgets a hold.
    fn remove_hold(&mut self, hold: &Hold) -> Result<(), Self::Error>;

    /// What is remembered of that token of that key, expired or not.
    fn idempotency_record(
        &self,
        key: &KeyId,
        token: &Digest,
    ) -> Result<Option<IdempotencyRecord>, Self::Error>;
    /// Remembers a submission.
    fn put_idempotency_record(&mut self, idempotency_record: &IdempotencyRecord) -> Result<(), Self::Error>;
    /// Forgets a submission.
    fn remove_idempotency_record(
        &mut self,
        idempotency_record: &IdempotencyRecord,
    ) -> Result<(), Self::Error>;

    /// What is remembered of an operator's request with that token, expired or not.
    fn admin_idempotency_record(&self, token: &Digest)
    -> Result<Option<AdminIdempotencyRecord>, Self::Error>;
    /// Remembers an operator's request.
    fn put_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord) -> Result<(), Self::Error>;
    /// Forgets an operator's request.
    fn remove_admin_idempotency_record(&mut self, record: &AdminIdempotencyRecord)
    -> Result<(), Self::Error>;

    /// A customer's kept response of that id, expired or not.
    fn response(&self, customer: &CustomerId, id: &str) -> Result<Option<ResponseRecord>, Self::Error>;
    /// The one that the customer has kept longest.
    fn oldest_response(&self, customer: &CustomerId) -> Result<Option<ResponseRecord>, Self::Error>;
    /// What the customer keeps altogether.
    fn response_totals(&self, customer: &CustomerId) -> Result<ResponseTotals, Self::Error>;
    /// Keeps a response, whose id is no other row's, and lets it be found by the items of its output.
    fn put_response(&mut self, record: &ResponseRecord) -> Result<(), Self::Error>;
    /// Forgets a response.
    fn remove_response(&mut self, record: &ResponseRecord) -> Result<(), Self::Error>;

    /// The webhook of that id.
    fn webhook(&self, id: WebhookId) -> Result<Option<WebhookEndpoint>, Self::Error>;
    /// All webhooks of a customer, by id. Of one without any it is one look-up.
    fn webhooks_of(&self, customer: &CustomerId) -> Result<Vec<WebhookEndpoint>, Self::Error>;
    /// Keeps a webhook. Its sender looks at what waits for it.
    fn put_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), Self::Error>;
    /// Forgets a webhook, not its deliveries.
    fn remove_webhook(&mut self, webhook: &WebhookEndpoint) -> Result<(), Self::Error>;
    /// The delivery of that id.
    fn delivery(&self, id: DeliveryId) -> Result<Option<WebhookDelivery>, Self::Error>;
    /// The oldest delivery that waits for a webhook.
    fn oldest_pending_delivery(&self, webhook: WebhookId) -> Result<Option<WebhookDelivery>, Self::Error>;
    /// Keeps a delivery, and lets it be found by when it is due.
    fn put_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), Self::Error>;
    /// Forgets a delivery.
    fn remove_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), Self::Error>;

    /// The newest version of the price book.
    fn newest_price_book(&self) -> Result<Option<PriceVersion>, Self::Error>;
    /// Keeps a version of the price book by its number, and forgets those below a number.
    fn put_price_book(&mut self, book: &PriceVersion, below: u64) -> Result<(), Self::Error>;
    /// The number of the newest report of a deployment; zero without any.
    fn newest_deployment(&self) -> Result<u64, Self::Error>;
    /// Keeps the report of a deployment by its number, and forgets those below a number.
    fn put_deployment(&mut self, row: &DeploymentRecord, below: u64) -> Result<(), Self::Error>;

    /// Appends an entry, and tells its position. Its customer and its key find it, with these balances.
    fn append(&mut self, entry: &JournalEntry, after: BalancesAfter) -> Result<u64, Self::Error>;
    /// Adds to the sums of usage of that hour and of its day.
    fn add_usage(&mut self, key: UsageKey, sums: UsageSums) -> Result<(), Self::Error>;

    /// Appends to the audit record.
    fn append_audit(&mut self, record: &AuditRecord) -> Result<(), Self::Error>;
}
