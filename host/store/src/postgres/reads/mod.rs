//! The reads of a store in a database: the same names, arguments and answers as those of a file. Each is one statement, or to be run in
//! a transaction of one snapshot.
//!
//! A page looks at a bounded number of rows, by an index and in its order. Where a file says how many rows were read, here it is how
//! many the statements answered.

mod expired;
mod gauges;
mod pages;
mod records;
mod responses;
mod rows;
mod statement;
mod tasks;
mod totals;
mod usage;
mod webhooks;

pub(crate) use expired::expired;
pub(crate) use gauges::{fit_pepper, gauges, ledger_mark, needs_its_pepper};
pub(crate) use pages::{
    audit_span, count_without_credit, customers_without_credit, list_audit, list_customers, list_keys,
};
pub(crate) use records::{deployment, list_deployments, list_price_books, price_book};
pub(crate) use responses::{conversation, response, responses_with_items};
pub(crate) use rows::{
    admin_idempotency_record, count_customers, customer, idempotency_record, key, key_by_digest, key_lineage,
    live_tasks, open_requests, owned_names, steps, task,
};
pub(super) use statement::{ENTRIES, entry};
pub(crate) use statement::{count_statement, journal_entry, statement, statement_behind};
pub(crate) use tasks::{list_all_tasks, list_tasks};
pub(crate) use totals::statement_totals;
pub(crate) use usage::usage;
pub(super) use usage::usage_row;
pub(crate) use webhooks::{
    count_troubled_webhooks, delivery, list_deliveries, list_webhooks, next_delivery, troubled_webhooks,
    waiting_webhooks, webhook, webhooks_of,
};

use tokio_postgres::GenericClient;

use super::sql::{count, first, text};
use crate::error::StoreError;

const LENGTH: &str = "select rows from list_length where list = $1";

/// How many rows a list has that is counted as it changes.
async fn length(client: &impl GenericClient, list: &str) -> Result<u64, StoreError> {
    first(client, LENGTH, vec![text(list)]).await?.map_or(Ok(0), |row| count(&row, 0))
}
