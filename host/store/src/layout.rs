//! The tables, their keys and their rows. Names and encodings are frozen by the first release; `SCHEMA` counts changes.
//!
//! Large tables are keyed by time-ordered ids, which keeps writes together at one end of each tree. History is
//! kept in one table a day, so that forgetting a day is dropping a table.

use gatehouse_model::{Credits, Customer, Key, Task};
use gatehouse_tasks::{
    AdminIdempotencyRecord, AuditRecord, DeploymentRecord, Hold, HoldId, IdempotencyRecord, JournalEntry,
    NameRecord, PriceVersion, ResponseRecord, ResponseTotals, StepRow, UsageSums, WebhookDelivery,
    WebhookEndpoint,
};

use crate::table::{DayTables, Table};

/// The version of everything in this file. Those below it were never released.
pub(crate) const SCHEMA: u64 = 6;
/// Where `META` holds it.
pub(crate) const SCHEMA_KEY: &str = "schema";

/// The kind of a hold, and its id's bits: requests before tasks, within a kind by creation.
pub(crate) type HoldKey = (u8, u128);
pub(crate) type DigestKey = [u8; 32];
/// Customer, status, canonical model and id of a task. Rows for all customers have an empty customer, which no
/// customer is, then the name of a list, its value and the id.
pub(crate) type IndexKey = (String, String, String, u128);
/// Customer, key, hour or day since the epoch, and canonical model. An empty key stands for all keys of the customer, an
/// empty customer for all customers.
pub(crate) type UsageRowKey = (String, String, u32, String);

/// What one row of [`LEDGER_INDEX`] lists: positions of entries, each with the balance after it.
pub(crate) type Listed = Vec<(u64, Credits)>;
/// Credits paid in, and credits taken back, both positive.
pub(crate) type Paid = (i64, i64);

/// The tables, and the names of them all.
macro_rules! fixed_tables {
    ($($(#[doc = $doc:literal])+ $name:ident: $key:ty => $row:ty = $table:literal;)+) => {
        $(
            $(#[doc = $doc])+
            pub(crate) const $name: Table<$key, $row> = Table::new($table);
        )+

        /// Made with the file.
        pub(crate) const FIXED_TABLES: &[&str] = &[$($table),+];
    };
}

fixed_tables! {
    /// Facts about the file itself.
    META: String => u64 = "meta";
    /// Accounts by id.
    CUSTOMERS: String => Customer = "accounts";
    /// Ids of customers without credit.
    WITHOUT_CREDIT: String => () = "customers-without-credit";
    /// Keys by id.
    KEYS: String => Key = "keys";
    /// Key ids by digest.
    KEY_DIGESTS: DigestKey => String = "key-digests";
    /// Live tasks by id.
    LIVE: u128 => Task = "live";
    /// Open holds by id.
    HOLDS: HoldKey => Hold = "holds";
    /// Open holds of requests by expiry.
    HOLD_EXPIRY: (u64, HoldKey) => () = "hold-expiry";
    /// The ledger by position: counts up by one in the order of commands, of whatever customer.
    LEDGER: u64 => JournalEntry = "ledger";
    /// Remembered submissions by key and token.
    IDEMPOTENCY: (String, DigestKey) => IdempotencyRecord = "idempotency";
    /// Remembered submissions by expiry.
    IDEMPOTENCY_EXPIRY: (u64, String, DigestKey) => () = "idempotency-expiry";
    /// The audit record by sequence number.
    AUDIT: u64 => AuditRecord = "audit";
    /// Names by customer and name.
    NAMES: (String, String) => NameRecord = "names";
    /// The customer that owns a name, by name.
    NAME_OWNERS: String => String = "name-owners";
    /// Sums of usage by day, kept for ever.
    USAGE_DAYS: UsageRowKey => UsageSums = "usage-days";
    /// Ledger rows of a customer or a key, with its balance after each: one row for each commit, or more, by [`CUSTOMER_ROWS`] or
    /// [`KEY_ROWS`], the id, and the position of the first ledger row.
    LEDGER_INDEX: (String, String, u64) => Listed = "ledger-index";
    /// What was paid in and taken back, by customer (all: empty) and day since the epoch; kept for ever.
    DEPOSIT_DAYS: (String, u32) => Paid = "deposit-days";
    /// Versions of the price book by number.
    PRICE_BOOKS: u64 => PriceVersion = "price-books";
    /// Reports of deployments by number.
    DEPLOYMENTS: u64 => DeploymentRecord = "deployments";
    /// Webhooks by id.
    WEBHOOKS: u128 => WebhookEndpoint = "webhooks";
    /// Webhooks by customer and id.
    WEBHOOK_OWNERS: (String, u128) => () = "webhook-owners";
    /// Ids of webhooks that do not reach their receiver.
    TROUBLED_WEBHOOKS: u128 => () = "troubled-webhooks";
    /// Deliveries to webhooks by id.
    DELIVERIES: u128 => WebhookDelivery = "deliveries";
    /// Deliveries by webhook, [`ALL_DELIVERIES`] or [`PENDING_DELIVERIES`], and id.
    DELIVERY_INDEX: (u128, u8, u128) => () = "delivery-index";
    /// Deliveries that wait, by webhook, moment of the next attempt, and id.
    DELIVERY_DUE: (u128, u64, u128) => () = "delivery-due";
    /// Remembered requests of operators by token.
    ADMIN_IDEMPOTENCY: DigestKey => AdminIdempotencyRecord = "admin-idempotency";
    /// Remembered requests of operators by expiry and token.
    ADMIN_IDEMPOTENCY_EXPIRY: (u64, DigestKey) => () = "admin-idempotency-expiry";
    /// Kept responses by customer and id.
    RESPONSES: (String, String) => ResponseRecord = "responses";
    /// Ids of kept responses by customer and item of their output.
    RESPONSE_ITEMS: (String, String) => String = "response-items";
    /// Kept responses by customer, time and id.
    RESPONSE_AGES: (String, u64, String) => () = "response-ages";
    /// Kept responses by expiry, customer and id.
    RESPONSE_EXPIRY: (u64, String, String) => () = "response-expiry";
    /// How many responses a customer keeps, and their bytes.
    RESPONSE_TOTALS: String => ResponseTotals = "response-totals";
}

/// Ended tasks by id, in the tables of the days of their creation.
pub(crate) const HISTORY: DayTables<u128, Task> = DayTables::new("history");
/// The logs of all tasks, live ones too, by id and position, in the same way.
pub(crate) const STEPS: DayTables<(u128, u64), StepRow> = DayTables::new("steps");
/// All tasks, live ones too, in the same way. A row moves when the status of its task changes.
pub(crate) const TASK_INDEX: DayTables<IndexKey, ()> = DayTables::new("task-index");
/// The sums of usage by hour, in the tables of their days.
pub(crate) const USAGE_HOURS: DayTables<UsageRowKey, UsageSums> = DayTables::new("usage-hours");

/// The first part of the keys of [`LEDGER_INDEX`].
pub(crate) const CUSTOMER_ROWS: &str = "customer";
/// The same for keys.
pub(crate) const KEY_ROWS: &str = "key";
/// Rows of [`DELIVERY_INDEX`] for every delivery of a webhook.
pub(crate) const ALL_DELIVERIES: u8 = 0;
/// Rows of [`DELIVERY_INDEX`] for those that wait.
pub(crate) const PENDING_DELIVERIES: u8 = 1;

pub(crate) const REQUEST_HOLDS: u8 = 0;
pub(crate) const TASK_HOLDS: u8 = 1;

pub(crate) fn hold_key(id: HoldId) -> HoldKey {
    match id {
        HoldId::Request(id) => (REQUEST_HOLDS, id.bits()),
        HoldId::Task(id) => (TASK_HOLDS, id.bits()),
    }
}
