//! Everything that can change: one closure-free value per change, so that it can be logged, replayed and
//! applied in batches.

use gatehouse_model::{
    Credits, Customer, CustomerId, CustomerPolicy, Key, KeyDigest, KeyId, KeyPolicy, RequestId, Tags, Task,
    TaskId, UnixMs, Usage,
};
use serde::{Deserialize, Serialize};

use crate::commands::change::{Change, Ending, Reconciliation};
use crate::commands::expired_row::ExpiredRow;
use crate::commands::request::{Idempotency, JoinRequest};
use crate::commands::webhook_change::WebhookChange;
use crate::records::administration::{AdminIdempotency, AuditedRequest};
use crate::records::journal_entry::JournalEntry;
use crate::records::mark::LedgerMark;
use crate::records::operator::OperatorRecord;
use crate::records::response::{ResponseLimits, ResponseRecord};
use crate::records::step::StepRecord;
use crate::records::webhook::{WebhookDelivery, WebhookEndpoint};

/// One change. The sender sets its times; the rules read no clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Makes an API key.
    AddKey {
        /// The whole record; nothing used yet. Made at its `created`.
        key: Box<Key>,
    },
    /// An operator's request: its change, its line in the audit record and the memory of its idempotency key, all or
    /// nothing.
    Administer {
        /// What it changes; `None` for one that was refused, or whose effect is not in the store.
        change: Option<Box<Command>>,
        /// Its line.
        audit: Box<AuditedRequest>,
        /// Recognises a repetition.
        idempotency: Option<AdminIdempotency>,
        /// When.
        at: UnixMs,
    },
    /// Records durable progress of a live task.
    Advance {
        /// The task.
        id: TaskId,
        /// The revision the change is based on.
        revision: u64,
        /// What changes.
        change: Box<Change>,
        /// When.
        at: UnixMs,
    },
    /// Writes a line into the audit record.
    Audit {
        /// The task it is about.
        task: Option<TaskId>,
        /// For the operator.
        text: String,
        /// When.
        at: UnixMs,
    },
    /// Pays in, or takes back when negative. Not idempotent: two deposits are two deposits.
    Deposit {
        /// Who gets it.
        #[serde(rename = "account")]
        customer: CustomerId,
        /// How much; never zero, never more taken back than is free.
        amount: Credits,
        /// For people.
        memo: String,
        /// When.
        at: UnixMs,
    },
    /// Replaces a customer's policy, by the same rules as a key's.
    EditCustomer {
        /// The customer.
        id: CustomerId,
        /// The revision that the policy is based on.
        revision: u64,
        /// All of it.
        policy: CustomerPolicy,
        /// When.
        at: UnixMs,
    },
    /// Replaces a key's policy. A quota below what is used is allowed, and lets nothing more be held. Another
    /// period begins with nothing used.
    EditKey {
        /// The key.
        id: KeyId,
        /// The revision that the policy is based on.
        revision: u64,
        /// All of it.
        policy: Box<KeyPolicy>,
        /// When.
        at: UnixMs,
    },
    /// Ends a live task, resolves its hold and writes down the names it claims.
    Finish {
        /// The task.
        id: TaskId,
        /// The revision the end is based on.
        revision: u64,
        /// How it ends.
        ending: Ending,
        /// A line for the audit record.
        audit: Option<String>,
        /// When.
        at: UnixMs,
    },
    /// Forgets rows of one customer, or of nobody, whose time is over. A row that is another's, that is gone, or whose time is not
    /// over by now stays as it is.
    Forget {
        /// Whose they are.
        customer: Option<CustomerId>,
        /// Their names.
        rows: Vec<ExpiredRow>,
        /// The present.
        at: UnixMs,
    },
    /// Forgets a response of that customer. One that is not there changes nothing.
    ForgetResponse {
        /// Its owner.
        customer: CustomerId,
        /// Its id.
        id: String,
        /// When.
        at: UnixMs,
    },
    /// Reserves money for a request that is answered while its client waits. A request id is used once.
    Hold {
        /// The request.
        id: RequestId,
        /// The key it came through; its customer pays.
        key: KeyId,
        /// The canonical model, whose concurrency the key may limit, and for the sums of usage.
        model: String,
        /// How much at most.
        amount: Credits,
        /// From when on it is released.
        expires: UnixMs,
        /// When.
        at: UnixMs,
    },
    /// Accepts a request that joins a living task of the same customer: its hold is added to the task's, and the
    /// request waits in the task's record until a [`Change`] delivers it. The task's revision stays as it is, so a
    /// step under way commits as if nothing had come: a reply in hand is not lost, and no call is made twice.
    /// [`Stale`](crate::Rejection::Stale) when the task is not the one that the request was judged by.
    Join {
        /// The task it joins.
        parent: TaskId,
        /// What joins.
        request: Box<JoinRequest>,
        /// Recognises a repetition.
        idempotency: Option<Idempotency>,
        /// When.
        at: UnixMs,
    },
    /// Keeps a version of the price book or the report of a deployment. The oldest make room for it.
    KeepRecord {
        /// The row, not numbered yet.
        record: Box<OperatorRecord>,
    },
    /// Keeps a response for follow-ups. The oldest of its customer make room for it.
    KeepResponse {
        /// The row.
        record: Box<ResponseRecord>,
        /// What its customer may keep.
        limits: ResponseLimits,
    },
    /// A change of a task with the steps that led to it: they are kept in its log, if the change is made.
    Logged {
        /// What changes: [`Command::Advance`], [`Command::Finish`] or [`Command::Reconcile`].
        change: Box<Command>,
        /// Oldest first.
        steps: Vec<StepRecord>,
        /// When.
        at: UnixMs,
    },
    /// Opens a customer with nothing in it.
    #[serde(rename = "OpenAccount")]
    AddCustomer {
        /// Its id.
        id: CustomerId,
        /// What it may spend of what it will have.
        #[serde(default)]
        policy: CustomerPolicy,
        /// When.
        at: UnixMs,
    },
    /// An operator's ruling about a task's ambiguous call, until the task's deadline.
    Reconcile {
        /// The task.
        id: TaskId,
        /// The revision that the operator saw; `None` for the present one.
        revision: Option<u64>,
        /// What becomes of the call.
        ruling: Reconciliation,
        /// Why, for the audit record; the client of a task that fails reads it too. 1 to 500 bytes.
        reason: String,
        /// When the task's time is over, if that is later than its row says: a wall clock may have been set forward.
        deadline: UnixMs,
        /// When.
        at: UnixMs,
    },
    /// Gives a request's hold back whole.
    Release {
        /// The request.
        id: RequestId,
        /// When.
        at: UnixMs,
    },
    /// Ends a key's validity. Revoking it again changes nothing.
    RevokeKey {
        /// The key.
        id: KeyId,
        /// When.
        at: UnixMs,
    },
    /// Makes a key with the name and policy of another, which goes on working for a while. Both spend one quota and
    /// have one limit of concurrency, those of the new key.
    RotateKey {
        /// The key to replace.
        id: KeyId,
        /// The id of its successor.
        new: KeyId,
        /// The digest of its successor's secret.
        digest: KeyDigest,
        /// Until when both work; at most seven days from `at`.
        until: UnixMs,
        /// When.
        at: UnixMs,
    },
    /// Spends part of a request's hold, or all of it, and gives the rest back. What it cost above the hold is taken from
    /// the customer's balance, as far as that and the key's quota go.
    Settle {
        /// The request.
        id: RequestId,
        /// What it cost.
        amount: Credits,
        /// For people: what was counted.
        memo: String,
        /// What was counted, for the sums of usage.
        #[serde(default)]
        tokens: Usage,
        /// What the client noted down about the request.
        #[serde(default, skip_serializing_if = "Tags::is_empty")]
        tags: Tags,
        /// When.
        at: UnixMs,
    },
    /// Accepts a task: task, hold and the memory of its idempotency key become durable together, at the
    /// task's `created`.
    Submit {
        /// The task, not yet ended, with `held` worked out.
        task: Box<Task>,
        /// Recognises a repetition.
        idempotency: Option<Idempotency>,
    },
    /// Writes the heads of all chains into the audit record.
    MarkLedger {
        /// What was read of them.
        mark: LedgerMark,
        /// When.
        at: UnixMs,
    },
    /// Changes a webhook or a delivery.
    Webhook {
        /// What changes.
        change: Box<WebhookChange>,
        /// When.
        at: UnixMs,
    },
}

impl Command {
    /// The task whose row it may change.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Administer { change, .. } => change.as_ref()?.task(),
            Self::Advance { id, .. } | Self::Finish { id, .. } | Self::Reconcile { id, .. } => Some(*id),
            Self::Join { parent, .. } => Some(*parent),
            Self::Logged { change, .. } => change.task(),
            Self::Submit { task, .. } => Some(task.id),
            _ => None,
        }
    }
}

/// What became of a command, with the row that it changed where its sender shows that to somebody. A read after the commit may
/// fail, and then what was done would look as if it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// An operator's request was done, now or when it came before.
    Administered {
        /// What it made or changed, as its idempotency record says; empty without one.
        object: String,
        /// The position of the ledger entry it made.
        entry: Option<u64>,
        /// Whether it came before: nothing was changed now.
        repeated: bool,
        /// What became of its change, where it was made now.
        change: Option<Box<Applied>>,
    },
    /// The customer after [`Command::EditCustomer`].
    Customer(Box<Customer>),
    /// The delivery after [`WebhookChange::Test`] or [`WebhookChange::Resend`].
    Delivery(Box<WebhookDelivery>),
    /// What [`Command::Deposit`] made.
    Deposited {
        /// The position of its entry in the ledger.
        position: u64,
        /// The entry.
        entry: Box<JournalEntry>,
        /// The customer with it.
        customer: Box<Customer>,
    },
    /// Done; there is nothing to say.
    Done,
    /// How many rows were forgotten that had been there.
    Forgotten(usize),
    /// The request joined this task.
    Joined(TaskId),
    /// The key after [`Command::EditKey`] or [`Command::RevokeKey`], or the new one of [`Command::RotateKey`].
    Key(Box<Key>),
    /// The submission had come before and made this task, or the request had joined it before; nothing was changed.
    Repeated(TaskId),
    /// A request's hold was settled.
    Settled {
        /// What was spent.
        paid: Credits,
        /// What of its cost neither the hold nor the customer's balance nor the key's quota had.
        unpaid: Credits,
    },
    /// The task was accepted.
    Submitted(TaskId),
    /// The task after [`Command::Advance`], [`Command::Finish`] or [`Command::Reconcile`].
    Task(Box<Task>),
    /// The webhook after [`WebhookChange::Add`], [`WebhookChange::Edit`], [`WebhookChange::Rotate`] or
    /// [`WebhookChange::Retire`].
    Webhook(Box<WebhookEndpoint>),
}
