//! The reads of a store: one table. Each row is a method of [`Store`] and names the module whose function of the same name reads the
//! file; the function of that name in `postgres::reads` asks the database.
//!
//! | Kind | The method | In the file | In the database |
//! |---|---|---|---|
//! | `short` | [`ShortRead`] | answers at once, without a thread of its own: its rows are in memory, or a page or two away | one statement |
//! | `long` | [`LongRead`] | reads many rows, on a thread for such reads | one snapshot |
//! | `blocking` | blocks its caller | the same on the caller's thread | one snapshot |
//!
//! Each read sees one snapshot. What a short read is handed lives as long as its future: `'a`. What stands
//! behind `=>` is handed to the functions, where that is not the arguments as they are.

use std::collections::BTreeSet;
use std::future::{Ready, ready};
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::Either;
use gatehouse_model::{
    Boxed, Claim, Customer, CustomerId, DeliveryId, Digest, Key, KeyDigest, KeyId, RequestId, Task, TaskId,
    UnixMs, WebhookId,
};
use gatehouse_tasks::{
    AdminIdempotencyRecord, AuditRecord, DeploymentRecord, ExpiredRows, IdempotencyRecord, JournalEntry,
    KeyLineage, LedgerMark, PriceVersion, ResponseRecord, StepRow, WebhookDelivery, WebhookEndpoint,
};

use crate::administration::{self, AuditQuery, KeyQuery, RowPage};
use crate::error::StoreError;
use crate::file::pepper;
use crate::gauges::{self, StoreGauges};
use crate::listing::all_tasks::{self, AllTasksPage, AllTasksQuery};
use crate::listing::kept_responses;
use crate::listing::page::{self, TaskPage, TaskQuery};
use crate::postgres::reading::{snapshot, within};
use crate::records::{self, PriceVersionSummary};
use crate::statement::read::{self as statement, StatementOf, StatementPage, StatementQuery, StatementRow};
use crate::statement::totals::{self, StatementTotals};
use crate::store::{Source, Store};
use crate::usage::read::{self as usage, UsageQuery, UsageRows};
use crate::webhooks::{self, DeliveryQuery};
use crate::{examine, expired, read};

/// A read of a few rows: what the file has answered, or what asks the database. As with every boxed future, its code is compiled here,
/// not in every crate that awaits it.
pub type ShortRead<'a, T> = Either<Ready<Result<T, StoreError>>, LongRead<'a, T>>;

/// A read of many rows, on a thread for such reads.
pub type LongRead<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// What asks the database.
mod sql {
    /// The same, for callers with a thread of their own.
    pub(super) use crate::postgres::reads::live_tasks as live_tasks_behind;
    pub(super) use crate::postgres::reads::*;
}

/// A read of many rows, which sees one snapshot.
macro_rules! in_snapshot {
    ($reading:ident, sql::$name:ident($($given:expr),*)) => {
        async {
            let mut reader = $reading.reader().await?;
            let found = sql::$name(&snapshot(&mut reader).await?, $($given),*).await;
            reader.keep();
            found
        }
    };
}

macro_rules! method {
    ($how:ident $module:ident $docs:tt $name:ident $args:tt ($($arg:ident: $type:ty),*) -> $of:ty) => {
        method! { $how $module $docs $name $args ($($arg: $type),*) -> $of => ($($arg),*) }
    };
    (
        short $module:ident [$($doc:literal)+] $name:ident ($($arg:ident: $type:ty),*) $args:tt -> $of:ty
        => ($($given:expr),*)
    ) => {
        $(#[doc = $doc])+
        ///
        /// # Errors
        /// [`StoreError`].
        pub fn $name<'a>(&'a self, $($arg: $type),*) -> ShortRead<'a, $of> {
            let answer = match self.source() {
                Ok(Source::File(database)) => {
                    self.read(&database, |txn| $module::$name(txn, $($given),*))
                }
                Ok(Source::Postgres(reading)) => {
                    return Either::Right(Box::pin(async move {
                        let read = async {
                            loop {
                                let reader = reading.reader().await?;
                                let found = sql::$name(&*reader, $($given),*).await;
                                // Its session may have ended while nobody used it.
                                if matches!(found, Err(StoreError::Unavailable)) && reader.was_idle() {
                                    continue;
                                }
                                reader.keep();
                                return found;
                            }
                        };
                        self.wake_for(within(read).await)
                    }));
                }
                Err(error) => Err(error),
            };
            Either::Left(ready(answer))
        }
    };
    (
        long $module:ident [$($doc:literal)+] $name:ident ($($arg:ident: $type:ty),*) $args:tt -> $of:ty
        => ($($given:expr),*)
    ) => {
        $(#[doc = $doc])+
        ///
        /// # Errors
        /// [`StoreError`].
        pub fn $name(&self, $($arg: $type),*) -> LongRead<'_, $of> {
            Box::pin(async move {
                let _permit = self.long_read_permit().await?;
                match self.source()? {
                    Source::File(database) => {
                        self.read_elsewhere(database, move |txn| $module::$name(txn, $($given),*)).await
                    }
                    Source::Postgres(reading) => {
                        self.wake_for(in_snapshot!(reading, sql::$name($($given),*)).await)
                    }
                }
            })
        }
    };
    (
        blocking $module:ident [$($doc:literal)+] $name:ident ($($arg:ident: $type:ty),*) $args:tt -> $of:ty
        => ($($given:expr),*)
    ) => {
        $(#[doc = $doc])+
        ///
        /// # Errors
        /// [`StoreError`].
        pub fn $name(&self, $($arg: $type),*) -> Result<$of, StoreError> {
            match self.source()? {
                Source::File(database) => self.read(&database, |txn| $module::$name(txn, $($given),*)),
                Source::Postgres(reading) => {
                    self.wake_for(reading.wait_for(in_snapshot!(reading, sql::$name($($given),*))))
                }
            }
        }
    };
}

macro_rules! reads {
    ($($module:ident {$(
        $(#[doc = $doc:literal])+
        $how:ident fn $name:ident($($arg:ident: $type:ty),*) -> $of:ty $(=> $given:tt)?;
    )+})+) => {
        impl Store {
            $($(
                method! {
                    $how $module [$($doc)+] $name ($($arg: $type),*) ($($arg: $type),*) -> $of $(=> $given)?
                }
            )+)+
        }
    };
}

reads! {
    read {
        /// A task, live or ended.
        short fn task(id: TaskId) -> Option<Task>;
        /// Live tasks by creation, some of those behind a task; none once there are no more. Tasks that come or go meanwhile may
        /// or may not be among them.
        long fn live_tasks(after: Option<TaskId>) -> Vec<Task>;
        /// The same on the thread of its caller.
        blocking fn live_tasks_behind(after: Option<TaskId>) -> Vec<Task>;
        /// The log of a task, oldest first: at most [`gatehouse_tasks::MAX_STEP_ROWS`] rows. Empty for a task that is unknown.
        long fn steps(task: TaskId) -> Vec<StepRow>;
        /// Requests whose holds are open, by creation; all of them.
        long fn open_requests() -> Vec<RequestId>;
        /// A customer.
        short fn customer(id: &'a CustomerId) -> Option<Customer>;
        /// How many customers there are. Reads no row.
        short fn count_customers() -> u64;
        /// A key.
        short fn key(id: &'a KeyId) -> Option<Key>;
        /// The key of that digest.
        short fn key_by_digest(digest: &'a KeyDigest) -> Option<Key>;
        /// A key and those that replaced it.
        short fn key_lineage(id: &'a KeyId) -> Option<KeyLineage>;
        /// Those of the names that the customer owns, in the order asked. Any other is as unknown as one that was never
        /// claimed.
        short fn owned_names(customer: &'a CustomerId, names: &'a [String]) -> Vec<Claim>;
        /// What is remembered of a request that came with that key and token; it may have expired.
        short fn idempotency_record(key: &'a KeyId, token: &'a Digest) -> Option<IdempotencyRecord>;
        /// What is remembered of a change that came with that token; it may have expired.
        short fn admin_idempotency_record(token: &'a Digest) -> Option<AdminIdempotencyRecord>;
    }
    expired {
        /// Rows whose time is over at that moment: of each kind the oldest, at most so many.
        long fn expired(now: UnixMs, limit: usize) -> ExpiredRows;
    }
    page {
        /// A page of a customer's tasks.
        long fn list_tasks(customer: CustomerId, query: TaskQuery) -> TaskPage => (&customer, &query);
    }
    all_tasks {
        /// A page of all customers' tasks.
        long fn list_all_tasks(query: AllTasksQuery) -> AllTasksPage => (&query);
    }
    kept_responses {
        /// A customer's kept response and all that it goes on from, the oldest first; `None` when one of them is gone or has
        /// expired at `now`, or when there are more than `limit`: a conversation is never continued from a part of it.
        long fn conversation(customer: CustomerId, id: String, now: UnixMs, limit: usize)
            -> Option<Vec<ResponseRecord>> => (&customer, &id, now, limit);
        /// A customer's kept response; `None` once it has expired at `now`.
        long fn response(customer: CustomerId, id: String, now: UnixMs) -> Option<ResponseRecord>
            => (&customer, &id, now);
        /// The customer's kept response in whose output each of the items is, in the order asked; `None` for an item of none.
        /// Items of one response share it. It comes without its request and the outline of its stream.
        long fn responses_with_items(customer: CustomerId, items: Vec<String>, now: UnixMs)
            -> Vec<Option<Arc<ResponseRecord>>> => (&customer, &items, now);
    }
    administration {
        /// A page of customers by id, after the one of id `after`.
        long fn list_customers(after: Option<CustomerId>, limit: usize) -> RowPage<Customer, CustomerId>
            => (after.as_ref(), limit);
        /// A page of the customers that have no credit, by id, after the one of id `after`. Reads these alone.
        long fn customers_without_credit(after: Option<CustomerId>, limit: usize)
            -> RowPage<Customer, CustomerId> => (after.as_ref(), limit);
        /// How many customers have no credit. Reads no row.
        short fn count_without_credit() -> u64;
        /// A page of keys by id, after the one of id `after`.
        long fn list_keys(query: KeyQuery, after: Option<KeyId>, limit: usize) -> RowPage<Key, KeyId>
            => (&query, after.as_ref(), limit);
        /// A page of the audit record, newest first: lines with their numbers, below the number `before`.
        long fn list_audit(query: AuditQuery, before: Option<u64>, limit: usize)
            -> RowPage<(u64, AuditRecord), u64> => (&query, before, limit);
        /// How many lines of the audit record lie in the range of time of `query`.
        long fn audit_span(query: AuditQuery) -> u64 => (&query);
        /// The ledger row of that number.
        short fn journal_entry(number: u64) -> Option<JournalEntry>;
    }
    records {
        /// A version of the price book.
        short fn price_book(number: u64) -> Option<PriceVersion>;
        /// A page of versions of the price book, newest first, below the number `before`.
        long fn list_price_books(before: Option<u64>, limit: usize) -> RowPage<PriceVersionSummary, u64>;
        /// The report of a deployment.
        short fn deployment(number: u64) -> Option<DeploymentRecord>;
        /// A page of reports of deployments, of one family or of all, newest first, below the number `before`.
        long fn list_deployments(family: Option<String>, before: Option<u64>, limit: usize)
            -> RowPage<DeploymentRecord, u64> => (family.as_ref(), before, limit);
    }
    statement {
        /// A page of a statement.
        long fn statement(query: StatementQuery) -> StatementPage => (&query);
        /// How many rows a statement has, its limit left out; no more than `max` are counted.
        long fn count_statement(query: StatementQuery, max: usize) -> usize => (&query, max);
        /// A customer's ledger rows behind a position, oldest first, and in the same snapshot the customer, with whose head the
        /// last row of all ends.
        long fn statement_behind(id: CustomerId, position: Option<u64>, limit: usize)
            -> Option<(Customer, Vec<StatementRow>)> => (&id, position, limit);
    }
    totals {
        /// The sums of a statement of days (since the epoch, UTC). Reads a row for each day and model, and a row for each day
        /// with deposits; `None` where that is more than `max_rows`.
        long fn statement_totals(of: StatementOf, days: Range<u32>, max_rows: usize)
            -> Option<StatementTotals> => (&of, &days, max_rows);
    }
    usage {
        /// Sums of usage.
        long fn usage(query: UsageQuery) -> UsageRows => (&query);
    }
    webhooks {
        /// Webhooks for which a delivery waits. Reads one row for each.
        short fn waiting_webhooks() -> BTreeSet<WebhookId>;
        /// The delivery of a webhook that is due first, and when.
        short fn next_delivery(webhook: WebhookId) -> Option<(UnixMs, DeliveryId)>;
        /// A webhook.
        short fn webhook(id: WebhookId) -> Option<WebhookEndpoint>;
        /// All webhooks of a customer by id: those that its keys made, and those that operators made.
        short fn webhooks_of(customer: &'a CustomerId) -> Vec<WebhookEndpoint>;
        /// A delivery.
        short fn delivery(id: DeliveryId) -> Option<WebhookDelivery>;
        /// A page of webhooks by id, of one customer or of all, after the one of id `after`.
        long fn list_webhooks(customer: Option<CustomerId>, after: Option<WebhookId>, limit: usize)
            -> RowPage<WebhookEndpoint, WebhookId> => (customer.as_ref(), after, limit);
        /// Webhooks that do not reach their receiver, by id; the first `limit` of them. Reads these alone.
        long fn troubled_webhooks(limit: usize) -> Vec<WebhookEndpoint>;
        /// How many webhooks do not reach their receiver. Reads no row.
        short fn count_troubled_webhooks() -> u64;
        /// A page of deliveries, newest first, before the one of id `before`.
        long fn list_deliveries(query: DeliveryQuery, before: Option<DeliveryId>, limit: usize)
            -> RowPage<WebhookDelivery, DeliveryId> => (&query, before, limit);
    }
    gauges {
        /// What there is now. Reads at most a row for each of a thousand webhooks; to be called on a blocking thread.
        blocking fn gauges() -> StoreGauges;
    }
    examine {
        /// The heads of all chains as they are now.
        long fn ledger_mark() -> LedgerMark;
    }
    pepper {
        /// Whether the rows need the pepper they were made with: without it no key works.
        blocking fn needs_its_pepper() -> bool;
    }
}
