//! The tables and their keys. Names and encodings are frozen by the first release; `SCHEMA` counts changes.
//!
//! Large tables are keyed by time-ordered ids, which keeps writes together at one end of each tree. History is
//! kept in one table a day, so that forgetting a day is dropping a table.

use gatehouse_tasks::HoldId;
use redb::{TableDefinition, TableHandle};

/// The version of everything in this file. Those below it were never released.
pub(crate) const SCHEMA: u64 = 5;
/// Where `META` holds it.
pub(crate) const SCHEMA_KEY: &str = "schema";

pub(crate) type Row = &'static [u8];
pub(crate) type HoldKey = [u8; 17];
pub(crate) type DigestKey = [u8; 32];
/// Customer, status, canonical model and id of a task. Rows for all customers have an empty customer, which no
/// customer is, then the name of a list, its value and the id.
pub(crate) type IndexKey = (&'static str, &'static str, &'static str, u128);
/// Customer, key, hour or day since the epoch, and canonical model. An empty key stands for all keys of the customer, an
/// empty customer for all customers.
pub(crate) type UsageRowKey = (&'static str, &'static str, u32, &'static str);
/// [`CUSTOMER_ROWS`] or [`KEY_ROWS`], the id, and the position of the first ledger row.
pub(crate) type LedgerIndexKey = (&'static str, &'static str, u64);

/// The tables, and a macro that runs another one on the names of them all.
macro_rules! fixed_tables {
    (($d:tt) $($(#[doc = $doc:literal])+ $name:ident: $key:ty => $value:ty = $table:literal;)+) => {
        $(
            $(#[doc = $doc])+
            pub(crate) const $name: TableDefinition<'_, $key, $value> = TableDefinition::new($table);
        )+

        macro_rules! with_fixed_tables {
            ($d run:ident) => { $d run!($($name),+) };
        }
        pub(crate) use with_fixed_tables;
    };
}

fixed_tables! {
    ($)
    /// Facts about the file itself.
    META: &str => u64 = "meta";
    /// Accounts by id.
    CUSTOMERS: &str => Row = "accounts";
    /// Ids of customers without credit.
    WITHOUT_CREDIT: &str => () = "customers-without-credit";
    /// Keys by id.
    KEYS: &str => Row = "keys";
    /// Key ids by digest.
    KEY_DIGESTS: DigestKey => &str = "key-digests";
    /// Live tasks by id.
    LIVE: u128 => Row = "live";
    /// Open holds by id.
    HOLDS: HoldKey => Row = "holds";
    /// Open holds of requests by expiry.
    HOLD_EXPIRY: (u64, HoldKey) => () = "hold-expiry";
    /// The ledger by position: counts up by one in the order of commands, of whatever customer.
    LEDGER: u64 => Row = "ledger";
    /// Remembered submissions by key and token.
    IDEMPOTENCY: (&str, DigestKey) => Row = "idempotency";
    /// Remembered submissions by expiry.
    IDEMPOTENCY_EXPIRY: (u64, &str, DigestKey) => () = "idempotency-expiry";
    /// The audit record by sequence number.
    AUDIT: u64 => Row = "audit";
    /// Names by customer and name.
    NAMES: (&str, &str) => Row = "names";
    /// The customer that owns a name, by name.
    NAME_OWNERS: &str => &str = "name-owners";
    /// Sums of usage by day, kept for ever.
    USAGE_DAYS: UsageRowKey => Row = "usage-days";
    /// Ledger rows of a customer or a key, with its balance after each: one row for each commit, or more.
    LEDGER_INDEX: LedgerIndexKey => Row = "ledger-index";
    /// What was paid in and taken back, by customer (all: empty) and day since the epoch; kept for ever.
    DEPOSIT_DAYS: (&str, u32) => (i64, i64) = "deposit-days";
    /// Versions of the price book by number.
    PRICE_BOOKS: u64 => Row = "price-books";
    /// Reports of deployments by number.
    DEPLOYMENTS: u64 => Row = "deployments";
    /// Webhooks by id.
    WEBHOOKS: u128 => Row = "webhooks";
    /// Webhooks by customer and id.
    WEBHOOK_OWNERS: (&str, u128) => () = "webhook-owners";
    /// Ids of webhooks that do not reach their receiver.
    TROUBLED_WEBHOOKS: u128 => () = "troubled-webhooks";
    /// Deliveries to webhooks by id.
    DELIVERIES: u128 => Row = "deliveries";
    /// Deliveries by webhook, [`ALL_DELIVERIES`] or [`PENDING_DELIVERIES`], and id.
    DELIVERY_INDEX: (u128, u8, u128) => () = "delivery-index";
    /// Deliveries that wait, by webhook, moment of the next attempt, and id.
    DELIVERY_DUE: (u128, u64, u128) => () = "delivery-due";
    /// Remembered requests of operators by token.
    ADMIN_IDEMPOTENCY: DigestKey => Row = "admin-idempotency";
    /// Remembered requests of operators by expiry and token.
    ADMIN_IDEMPOTENCY_EXPIRY: (u64, DigestKey) => () = "admin-idempotency-expiry";
    /// Kept responses by customer and id.
    RESPONSES: (&str, &str) => Row = "responses";
    /// Ids of kept responses by customer and item of their output.
    RESPONSE_ITEMS: (&str, &str) => &str = "response-items";
    /// Kept responses by customer, time and id.
    RESPONSE_AGES: (&str, u64, &str) => () = "response-ages";
    /// Kept responses by expiry, customer and id.
    RESPONSE_EXPIRY: (u64, &str, &str) => () = "response-expiry";
    /// How many responses a customer keeps, and their bytes.
    RESPONSE_TOTALS: &str => (u64, u64) = "response-totals";
}

/// The first part of a [`LedgerIndexKey`].
pub(crate) const CUSTOMER_ROWS: &str = "customer";
/// The same for keys.
pub(crate) const KEY_ROWS: &str = "key";
/// Rows of [`DELIVERY_INDEX`] for every delivery of a webhook.
pub(crate) const ALL_DELIVERIES: u8 = 0;
/// Rows of [`DELIVERY_INDEX`] for those that wait.
pub(crate) const PENDING_DELIVERIES: u8 = 1;

const HISTORY_PREFIX: &str = "history-";
const TASK_INDEX_PREFIX: &str = "task-index-";
const USAGE_HOURS_PREFIX: &str = "usage-hours-";
const STEPS_PREFIX: &str = "steps-";

/// The tables of one day, by the day of a task's creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    history: String,
    task_index: String,
    steps: String,
}

impl Day {
    pub(crate) fn new(day: u32) -> Self {
        Self {
            history: format!("{HISTORY_PREFIX}{day}"),
            task_index: format!("{TASK_INDEX_PREFIX}{day}"),
            steps: format!("{STEPS_PREFIX}{day}"),
        }
    }

    /// Ended tasks by id.
    pub(crate) fn history(&self) -> TableDefinition<'_, u128, Row> {
        TableDefinition::new(&self.history)
    }

    /// The logs of all tasks, live ones too, by id and position.
    pub(crate) fn steps(&self) -> TableDefinition<'_, (u128, u64), Row> {
        TableDefinition::new(&self.steps)
    }

    /// All tasks, live ones too. A row moves when the status of its task changes.
    pub(crate) fn task_index(&self) -> TableDefinition<'_, IndexKey, ()> {
        TableDefinition::new(&self.task_index)
    }
}

/// The day whose history that table holds.
pub(crate) fn history_day(table: &impl TableHandle) -> Option<u32> {
    table.name().strip_prefix(HISTORY_PREFIX)?.parse().ok()
}

/// The day whose tasks that table lists.
pub(crate) fn task_index_day(table: &impl TableHandle) -> Option<u32> {
    table.name().strip_prefix(TASK_INDEX_PREFIX)?.parse().ok()
}

/// The sums of usage by hour, of the hours of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsageHours(String);

impl UsageHours {
    pub(crate) fn new(day: u32) -> Self {
        Self(format!("{USAGE_HOURS_PREFIX}{day}"))
    }

    pub(crate) fn table(&self) -> TableDefinition<'_, UsageRowKey, Row> {
        TableDefinition::new(&self.0)
    }
}

/// The day whose hours of usage that table holds.
pub(crate) fn usage_hours_day(table: &impl TableHandle) -> Option<u32> {
    table.name().strip_prefix(USAGE_HOURS_PREFIX)?.parse().ok()
}

/// The day whose tasks' logs that table holds.
pub(crate) fn steps_day(table: &impl TableHandle) -> Option<u32> {
    table.name().strip_prefix(STEPS_PREFIX)?.parse().ok()
}

/// Requests sort before tasks; within a kind, by creation.
pub(crate) fn hold_key(id: HoldId) -> HoldKey {
    let (kind, bits) = match id {
        HoldId::Request(id) => (0, id.bits()),
        HoldId::Task(id) => (1, id.bits()),
    };
    let mut key = [kind; 17];
    key[1..].copy_from_slice(&bits.to_be_bytes());
    key
}

/// The id's bits of a [`HoldKey`].
pub(crate) fn hold_bits(key: &HoldKey) -> u128 {
    key[1..].iter().fold(0, |bits, byte| (bits << 8) | u128::from(*byte))
}
