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

/// Facts about the file itself.
pub(crate) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Accounts by id.
pub(crate) const CUSTOMERS: TableDefinition<'_, &str, Row> = TableDefinition::new("accounts");
/// Ids of customers without credit.
pub(crate) const WITHOUT_CREDIT: TableDefinition<'_, &str, ()> =
    TableDefinition::new("customers-without-credit");
/// Keys by id.
pub(crate) const KEYS: TableDefinition<'_, &str, Row> = TableDefinition::new("keys");
/// Key ids by digest.
pub(crate) const KEY_DIGESTS: TableDefinition<'_, DigestKey, &str> = TableDefinition::new("key-digests");
/// Live tasks by id.
pub(crate) const LIVE: TableDefinition<'_, u128, Row> = TableDefinition::new("live");
/// Open holds by id.
pub(crate) const HOLDS: TableDefinition<'_, HoldKey, Row> = TableDefinition::new("holds");
/// Open holds of requests by expiry.
pub(crate) const HOLD_EXPIRY: TableDefinition<'_, (u64, HoldKey), ()> = TableDefinition::new("hold-expiry");
/// The ledger by position: counts up by one in the order of commands, of whatever customer.
pub(crate) const LEDGER: TableDefinition<'_, u64, Row> = TableDefinition::new("ledger");
/// Remembered submissions by key and token.
pub(crate) const IDEMPOTENCY: TableDefinition<'_, (&str, DigestKey), Row> =
    TableDefinition::new("idempotency");
/// Remembered submissions by expiry.
pub(crate) const IDEMPOTENCY_EXPIRY: TableDefinition<'_, (u64, &str, DigestKey), ()> =
    TableDefinition::new("idempotency-expiry");
/// The audit record by sequence number.
pub(crate) const AUDIT: TableDefinition<'_, u64, Row> = TableDefinition::new("audit");

/// Names by customer and name.
pub(crate) const NAMES: TableDefinition<'_, (&str, &str), Row> = TableDefinition::new("names");
/// The customer that owns a name, by name.
pub(crate) const NAME_OWNERS: TableDefinition<'_, &str, &str> = TableDefinition::new("name-owners");
/// Sums of usage by day, kept for ever.
pub(crate) const USAGE_DAYS: TableDefinition<'_, UsageRowKey, Row> = TableDefinition::new("usage-days");
/// Ledger rows of a customer or a key, with its balance after each: one row for each commit, or more.
pub(crate) const LEDGER_INDEX: TableDefinition<'_, LedgerIndexKey, Row> =
    TableDefinition::new("ledger-index");
/// What was paid in and taken back, by customer (all: empty) and day since the epoch; kept for ever.
pub(crate) const DEPOSIT_DAYS: TableDefinition<'_, (&str, u32), (i64, i64)> =
    TableDefinition::new("deposit-days");
/// The first part of a [`LedgerIndexKey`].
pub(crate) const CUSTOMER_ROWS: &str = "customer";
/// The same for keys.
pub(crate) const KEY_ROWS: &str = "key";
/// Versions of the price book by number.
pub(crate) const PRICE_BOOKS: TableDefinition<'_, u64, Row> = TableDefinition::new("price-books");
/// Reports of deployments by number.
pub(crate) const DEPLOYMENTS: TableDefinition<'_, u64, Row> = TableDefinition::new("deployments");

/// Webhooks by id.
pub(crate) const WEBHOOKS: TableDefinition<'_, u128, Row> = TableDefinition::new("webhooks");
/// Webhooks by customer and id.
pub(crate) const WEBHOOK_OWNERS: TableDefinition<'_, (&str, u128), ()> =
    TableDefinition::new("webhook-owners");
/// Ids of webhooks that do not reach their receiver.
pub(crate) const TROUBLED_WEBHOOKS: TableDefinition<'_, u128, ()> = TableDefinition::new("troubled-webhooks");
/// Deliveries to webhooks by id.
pub(crate) const DELIVERIES: TableDefinition<'_, u128, Row> = TableDefinition::new("deliveries");
/// Deliveries by webhook, [`ALL_DELIVERIES`] or [`PENDING_DELIVERIES`], and id.
pub(crate) const DELIVERY_INDEX: TableDefinition<'_, (u128, u8, u128), ()> =
    TableDefinition::new("delivery-index");
/// Deliveries that wait, by webhook, moment of the next attempt, and id.
pub(crate) const DELIVERY_DUE: TableDefinition<'_, (u128, u64, u128), ()> =
    TableDefinition::new("delivery-due");
/// Rows of [`DELIVERY_INDEX`] for every delivery of a webhook.
pub(crate) const ALL_DELIVERIES: u8 = 0;
/// Rows of [`DELIVERY_INDEX`] for those that wait.
pub(crate) const PENDING_DELIVERIES: u8 = 1;

/// Remembered requests of operators by token.
pub(crate) const ADMIN_IDEMPOTENCY: TableDefinition<'_, DigestKey, Row> =
    TableDefinition::new("admin-idempotency");
/// Remembered requests of operators by expiry and token.
pub(crate) const ADMIN_IDEMPOTENCY_EXPIRY: TableDefinition<'_, (u64, DigestKey), ()> =
    TableDefinition::new("admin-idempotency-expiry");

/// Kept responses by customer and id.
pub(crate) const RESPONSES: TableDefinition<'_, (&str, &str), Row> = TableDefinition::new("responses");
/// Ids of kept responses by customer and item of their output.
pub(crate) const RESPONSE_ITEMS: TableDefinition<'_, (&str, &str), &str> =
    TableDefinition::new("response-items");
/// Kept responses by customer, time and id.
pub(crate) const RESPONSE_AGES: TableDefinition<'_, (&str, u64, &str), ()> =
    TableDefinition::new("response-ages");
/// Kept responses by expiry, customer and id.
pub(crate) const RESPONSE_EXPIRY: TableDefinition<'_, (u64, &str, &str), ()> =
    TableDefinition::new("response-expiry");
/// How many responses a customer keeps, and their bytes.
pub(crate) const RESPONSE_TOTALS: TableDefinition<'_, &str, (u64, u64)> =
    TableDefinition::new("response-totals");

/// Runs a macro on the names of all tables but those of days.
macro_rules! with_fixed_tables {
    ($run:ident) => {
        $run!(
            META,
            CUSTOMERS,
            WITHOUT_CREDIT,
            KEYS,
            KEY_DIGESTS,
            LIVE,
            HOLDS,
            HOLD_EXPIRY,
            LEDGER,
            IDEMPOTENCY,
            IDEMPOTENCY_EXPIRY,
            AUDIT,
            NAMES,
            NAME_OWNERS,
            USAGE_DAYS,
            LEDGER_INDEX,
            DEPOSIT_DAYS,
            PRICE_BOOKS,
            DEPLOYMENTS,
            WEBHOOKS,
            WEBHOOK_OWNERS,
            TROUBLED_WEBHOOKS,
            DELIVERIES,
            DELIVERY_INDEX,
            DELIVERY_DUE,
            ADMIN_IDEMPOTENCY,
            ADMIN_IDEMPOTENCY_EXPIRY,
            RESPONSES,
            RESPONSE_ITEMS,
            RESPONSE_AGES,
            RESPONSE_EXPIRY,
            RESPONSE_TOTALS
        )
    };
}
pub(crate) use with_fixed_tables;

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
