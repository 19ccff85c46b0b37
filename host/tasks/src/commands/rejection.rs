//! Why a command changed nothing; what a rule returns, and the look-up that most of them begin with. Below every rule, so that
//! `apply` can depend on the rules and not the other way round.

use std::num::NonZeroU32;

use gatehouse_model::{Credits, Customer, CustomerId, DeliveryId, KeyId, Status, TaskId, WebhookId};

use crate::records::hold::HoldId;
use crate::records::quota::QuotaExceeded;
use crate::storage::ledger_storage::LedgerStorage;

/// Why a command changed nothing. Expected in normal work; the storage is unchanged and the batch goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// A call of the task is ambiguous; only a ruling or a bad end leads on.
    #[error("task {0} has an ambiguous call, which an operator settles first")]
    Ambiguous(TaskId),
    /// The customer has been edited since the sender read it.
    #[error("account {customer} has changed since: it is at revision {current}, not {given}")]
    CustomerChanged {
        /// The customer.
        customer: CustomerId,
        /// The revision that the command is based on.
        given: u64,
        /// The present one.
        current: u64,
    },
    /// A customer of that id is open already.
    #[error("account {0} exists already")]
    CustomerExists(CustomerId),
    /// The task has ended.
    #[error("the task has already ended: {}", .0.as_str())]
    Final(Status),
    /// There is an open hold of that id.
    #[error("there is a hold for {0} already")]
    HoldExists(HoldId),
    /// The idempotency key came with another request before.
    #[error("this idempotency key was used with a different request")]
    IdempotencyConflict,
    /// The customer has too little.
    #[error("insufficient balance: {needed} credits needed, {available} available")]
    InsufficientBalance {
        /// What was asked for.
        needed: Credits,
        /// What is free.
        available: Credits,
    },
    /// The task has as many undelivered requests as it may have.
    #[error("{0} requests have joined the task and wait for it; no more can")]
    JoinsFull(usize),
    /// The task cannot complete before the requests that joined it are delivered.
    #[error("{0} requests have joined the task and are not delivered")]
    JoinsPending(usize),
    /// The key has been edited, rotated or revoked since the sender read it.
    #[error("key {key} has changed since: it is at revision {current}, not {given}")]
    KeyChanged {
        /// The key.
        key: KeyId,
        /// The revision that the command is based on.
        given: u64,
        /// The present one.
        current: u64,
    },
    /// A key of that id or that secret exists already.
    #[error("key {0} exists already")]
    KeyExists(KeyId),
    /// The key has expired.
    #[error("key {0} has expired")]
    KeyExpired(KeyId),
    /// The key was revoked.
    #[error("key {0} was revoked")]
    KeyRevoked(KeyId),
    /// Another key has replaced it.
    #[error("key {key} was rotated to {to}, which has its quota and its limits now")]
    KeyRotated {
        /// The key.
        key: KeyId,
        /// Its successor.
        to: KeyId,
    },
    /// The command contradicts itself.
    #[error("{field}: {problem}")]
    Malformed {
        /// The field.
        field: &'static str,
        /// What was expected and what came.
        problem: String,
    },
    /// Another customer holds a name that was to be claimed.
    #[error("the name {0:?} belongs to another account")]
    NameTaken(String),
    /// No customer of that id.
    #[error("no account {0}")]
    NoCustomer(CustomerId),
    /// No delivery of that id: never made, or forgotten after its time.
    #[error("no delivery {0}")]
    NoDelivery(DeliveryId),
    /// No open hold of that id: never made, or resolved already.
    #[error("no open hold for {0}")]
    NoHold(HoldId),
    /// No key of that id.
    #[error("no key {0}")]
    NoKey(KeyId),
    /// No task of that id.
    #[error("no task {0}")]
    NoTask(TaskId),
    /// No webhook of that id.
    #[error("no webhook {0}")]
    NoWebhook(WebhookId),
    /// The reply of the ambiguous call is a file, which no operator can hand in.
    #[error(
        "task {0}: the reply of its call is kept as a file and cannot be adopted; resend it or fail the task"
    )]
    NotAdoptable(TaskId),
    /// No call of the task waits for a ruling.
    #[error("task {0} is not ambiguous: none of its calls waits for a ruling")]
    NotAmbiguous(TaskId),
    /// The sum does not fit.
    #[error("the amount does not fit into the ledger")]
    Overflow,
    /// More is to be settled than was held.
    #[error("cannot settle {cost} credits of a hold of {held}")]
    OverHold {
        /// What was to be settled.
        cost: Credits,
        /// What is held.
        held: Credits,
    },
    /// A quota has too little left.
    #[error(transparent)]
    QuotaExceeded(QuotaExceeded),
    /// The deadline of the task has passed: it fails and is refunded, whatever is ruled.
    #[error("the time of task {0} is over: it fails and is refunded")]
    RulingTooLate(TaskId),
    /// The task has moved on since the command was made: by its own steps, or by a request that joined it.
    #[error("the task has moved on to revision {current}")]
    Stale {
        /// Its revision.
        current: u64,
    },
    /// A task of that id exists already.
    #[error("task {0} exists already")]
    TaskExists(TaskId),
    /// The key has as many live tasks and open text requests as it may have.
    #[error("key {key} may have {limit} tasks and text requests{} at a time", of_model(.model.as_deref()))]
    TooManyOpen {
        /// The key.
        key: KeyId,
        /// Its limit.
        limit: NonZeroU32,
        /// The model whose limit it is; none for the limit of all together.
        model: Option<String>,
    },
    /// The customer has as many webhooks as it may have.
    #[error("an account may have {0} webhooks; remove one first")]
    TooManyWebhooks(usize),
    /// The webhook has changed since the sender read it.
    #[error("webhook {webhook} has changed since: it is at revision {current}, not {given}")]
    WebhookChanged {
        /// The webhook.
        webhook: WebhookId,
        /// The revision that the command is based on.
        given: u64,
        /// The present one.
        current: u64,
    },
    /// Nothing is sent to the webhook.
    #[error("webhook {0} is disabled; enable it first")]
    WebhookDisabled(WebhookId),
    /// Less is to be settled than requests which joined have added.
    #[error("cannot settle {cost} credits where requests that joined cost {joined}")]
    UnderJoined {
        /// What was to be settled.
        cost: Credits,
        /// What requests that joined have added.
        joined: Credits,
    },
}

fn of_model(model: Option<&str>) -> String {
    model.map_or_else(String::new, |model| format!(" of model {model:?}"))
}

impl Rejection {
    /// A command that contradicts itself.
    pub(crate) fn malformed(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Malformed { field, problem: problem.into() }
    }
}

/// Why a rule stopped.
pub(crate) enum Stop<E> {
    /// Nothing was changed.
    Rejected(Rejection),
    /// The storage cannot be read or written.
    Broken(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Broken(error)
    }
}

/// What a rule decides.
pub(crate) type Ruling<T, B> = Result<T, Stop<<B as LedgerStorage>::Error>>;

/// The customer of that id.
pub(crate) fn customer_of<B: LedgerStorage>(storage: &B, id: &CustomerId) -> Ruling<Customer, B> {
    storage.customer(id)?.ok_or_else(|| Stop::Rejected(Rejection::NoCustomer(id.clone())))
}
