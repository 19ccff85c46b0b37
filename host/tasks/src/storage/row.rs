//! What is stored: rows of so many kinds, each found by its key. Data only: which table holds a row, and what finds it besides
//! its key, is the engine's.

use gatehouse_model::{Customer, CustomerId, DeliveryId, Digest, Key, KeyId, Task, TaskId, WebhookId};
use serde::Serialize;

use crate::records::administration::AdminIdempotencyRecord;
use crate::records::hold::{Hold, HoldId};
use crate::records::journal_entry::JournalEntry;
use crate::records::operator::{DeploymentRecord, PriceVersion};
use crate::records::response::{ResponseRecord, ResponseTotals};
use crate::records::step::StepRow;
use crate::records::usage::{UsageKey, UsageSums};
use crate::records::webhook::{WebhookDelivery, WebhookEndpoint};
use crate::storage::ledger_storage::{AuditRecord, BalancesAfter, IdempotencyRecord, NameRecord};

/// The name of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// What is remembered of an operator's request, by its token.
    AdminIdempotency(Digest),
    /// A line of the audit record, by its position. Never read by a command.
    Audit(u64),
    /// A customer.
    Customer(CustomerId),
    /// A delivery to a webhook.
    Delivery(DeliveryId),
    /// The report of a deployment, by its number.
    Deployment(u64),
    /// An entry of the ledger, by its position. Never read by a command.
    Entry(u64),
    /// An open hold.
    Hold(HoldId),
    /// What is remembered of a submission, by its key and token.
    Idempotency(KeyId, Digest),
    /// A key.
    Key(KeyId),
    /// The id of the key of that digest.
    KeyDigest(Digest),
    /// A name, and the customer that owns it.
    Name(String),
    /// The position of the newest row of a series; absent while it has none.
    Newest(Series),
    /// A version of the price book, by its number.
    PriceBook(u64),
    /// A response that a customer keeps.
    Response(CustomerId, String),
    /// What a customer keeps altogether; absent where that is nothing.
    ResponseTotals(CustomerId),
    /// How many rows the logs of all tasks created on a day have.
    StepCount(u32),
    /// A row of a task's log, by its place in it. Never read by a command.
    Steps(TaskId, u64),
    /// A task, live or ended.
    Task(TaskId),
    /// What the present commit adds to the sums of usage. Never read.
    Usage(UsageKey),
    /// A webhook.
    Webhook(WebhookId),
    /// The ids of a customer's webhooks; absent where it has none.
    WebhooksOf(CustomerId),
}

/// Rows that are numbered in the order in which they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// Of [`RowKey::Audit`], from zero.
    Audit,
    /// Of [`RowKey::Deployment`], from one.
    Deployments,
    /// Of [`RowKey::Entry`], from zero.
    Ledger,
    /// Of [`RowKey::PriceBook`], from one.
    PriceBooks,
}

impl RowKey {
    /// Whether such a row is only ever written: what was stored under its key plays no part.
    #[must_use]
    pub fn is_written_only(&self) -> bool {
        matches!(self, Self::Audit(_) | Self::Entry(_) | Self::Steps(..) | Self::Usage(_))
    }

    /// Whether [`Row::drop_content`] drops anything of such a row.
    pub(crate) fn has_content(&self) -> bool {
        matches!(self, Self::Delivery(_) | Self::Response(..))
    }

    /// Whether the next commands will want the row too. That a customer has no webhooks is worth knowing, that
    /// a new request has no hold is not.
    pub(crate) fn outlives_commits(&self, row: Option<&Row>) -> bool {
        match self {
            Self::WebhooksOf(_) => true,
            Self::Customer(_) | Self::Hold(_) | Self::Key(_) | Self::Newest(_) => row.is_some(),
            Self::ResponseTotals(_) | Self::StepCount(_) | Self::Webhook(_) => row.is_some(),
            _ => false,
        }
    }
}

/// Bytes of a short text with its place in a list or a tree.
const TEXT: usize = 64;

/// What can be a row.
pub trait Kind: Clone {
    /// What `row` holds, if it is of this kind.
    fn of(row: &Row) -> Option<&Self>;
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident($stored:ty) of $type:ty;)+) => {
        /// What is stored under a [`RowKey`].
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Row {
            $($(#[doc = $doc])+ $kind($stored),)+
        }

        $(
            impl From<$type> for Row {
                fn from(row: $type) -> Self {
                    Self::$kind(row.into())
                }
            }

            impl Kind for $type {
                fn of(row: &Row) -> Option<&Self> {
                    match row {
                        Row::$kind(row) => Some(row),
                        _ => None,
                    }
                }
            }
        )+
    };
}

kinds! {
    /// Of an operator's request.
    AdminIdempotency(Box<AdminIdempotencyRecord>) of AdminIdempotencyRecord;
    /// A line of the audit record.
    Audit(Box<AuditRecord>) of AuditRecord;
    /// A customer.
    Customer(Box<Customer>) of Customer;
    /// A delivery.
    Delivery(Box<WebhookDelivery>) of WebhookDelivery;
    /// The report of a deployment.
    Deployment(Box<DeploymentRecord>) of DeploymentRecord;
    /// An entry of the ledger, and the balances that it leads to.
    Entry(Box<(JournalEntry, BalancesAfter)>) of (JournalEntry, BalancesAfter);
    /// An open hold.
    Hold(Box<Hold>) of Hold;
    /// Of a submission.
    Idempotency(Box<IdempotencyRecord>) of IdempotencyRecord;
    /// A key.
    Key(Box<Key>) of Key;
    /// The id of a key.
    KeyId(KeyId) of KeyId;
    /// A name.
    Name(Box<NameRecord>) of NameRecord;
    /// A count, or a position.
    Number(u64) of u64;
    /// A version of the price book.
    PriceBook(Box<PriceVersion>) of PriceVersion;
    /// A kept response.
    Response(Box<ResponseRecord>) of ResponseRecord;
    /// What a customer keeps.
    ResponseTotals(ResponseTotals) of ResponseTotals;
    /// A row of a task's log.
    Steps(Box<StepRow>) of StepRow;
    /// A task.
    Task(Box<Task>) of Task;
    /// Sums of usage.
    Usage(Box<UsageSums>) of UsageSums;
    /// A webhook.
    Webhook(Box<WebhookEndpoint>) of WebhookEndpoint;
    /// Ids of webhooks, in order.
    Webhooks(Vec<WebhookId>) of Vec<WebhookId>;
}

impl Row {
    /// What a row that outlives commits takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Customer(row) => size_of_val(&**row) + TEXT,
            Self::Hold(row) => {
                size_of_val(&**row) + 3 * TEXT + size_of_val(&*row.shares) + row.shares.len() * TEXT
            }
            Self::Key(row) => {
                let names = row.models.iter().chain(row.model_limits.keys()).chain(row.open.keys());
                let names: usize = names.map(|name| TEXT + name.len()).sum();
                size_of_val(&**row) + 3 * TEXT + row.name.len() + size_of_val(&*row.networks) + names
            }
            Self::Webhook(row) => {
                let last = row.last_attempt.as_ref().map_or(0, |last| last.error.len() + last.answer.len());
                size_of_val(&**row) + 4 * TEXT + row.url.len() + row.description.len() + last
            }
            Self::Webhooks(ids) => size_of_val(&**ids),
            _ => 0,
        }
    }

    /// Drops what may be large and finds no row: all that a commit has to know of a row that it takes out stays.
    pub(crate) fn drop_content(&mut self) {
        match self {
            Self::Response(row) => {
                (row.input, row.response, row.outline) = Default::default();
            }
            Self::Delivery(row) => {
                (row.body, row.attempts) = Default::default();
            }
            _ => {}
        }
    }
}

/// Rows in an order of their own, of which a command needs the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// Live tasks, by creation.
    Live,
    /// Deliveries that wait for a webhook, by id.
    Pending(WebhookId),
    /// A customer's responses, by when they were kept.
    Responses(CustomerId),
}

impl List {
    /// The list that a row is in, and its place there; nothing for a row that is in none. Rows of one place are in the order of
    /// their keys.
    #[must_use]
    pub fn of(key: &RowKey, row: &Row) -> Option<(Self, u64)> {
        match (key, row) {
            (RowKey::Task(_), Row::Task(task)) => (!task.status.is_final()).then_some((Self::Live, 0)),
            (RowKey::Delivery(_), Row::Delivery(row)) => row.due().map(|_| (Self::Pending(row.webhook), 0)),
            (RowKey::Response(customer, _), Row::Response(row)) => {
                Some((Self::Responses(customer.clone()), row.kept.0))
            }
            _ => None,
        }
    }
}
