//! The examination of a whole database, behind `gatehouse doctor`.
//!
//! Feeds every row of one snapshot to the rules of `tasks`, and compares what stands beside the rows with them: the columns by which
//! they are found, balances, deposits by day, the sums of usage, the counts of long lists, of logs and of kept responses. Never repairs.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Customer, CustomerId, Key, Task};
use gatehouse_tasks::{
    AuditRecord, DeploymentRecord, Examination, Hold, JournalEntry, Kind, NameRecord, PriceVersion, Report,
    ResponseRecord, ResponseTotals, RowKey, WebhookDelivery, WebhookEndpoint,
};
use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::failure::store_error;
use super::reads::{ENTRIES, entry, usage_row};
use super::sql::{PATIENTLY, column, count, decoded, limit, query, storable, walk};
use super::stored::{self, Stored, is_found};
use super::write::{CUSTOMERS, TROUBLED_WEBHOOKS, WAITING_DELIVERIES, WITHOUT_CREDIT};
use crate::engine::ledger::Deposits;
use crate::error::StoreError;
use crate::examine::{MARKS, Progress};
use crate::statement::check::{compare_deposits, missing_deposits};
use crate::usage::check::Sums;

const ROWS: &str = "
    select
        (select count(*) from ledger) + (select count(*) from customer) + (select count(*) from api_key)
        + (select count(*) from hold) + (select count(*) from task) + (select count(*) from name)";
const MARKED: &str = "
    select row
    from audit
    where marks
    order by number desc
    limit $1";
const DEPOSIT_DAYS: &str = "select customer, day, paid, taken from deposit_day order by customer, day";
/// In the order of a file.
pub(super) const USAGE_DAYS: &str = "
    select
        customer, key, day, model, requests::text, failures::text, input::text, output::text, cached::text,
        cache_write::text, settled, refunded
    from usage_day
    order by customer, key, day, model";
/// Day by day, in the order of a file.
pub(super) const USAGE_HOURS: &str = "
    select
        customer, key, hour, model, requests::text, failures::text, input::text, output::text, cached::text,
        cache_write::text, settled, refunded
    from usage_hour
    order by hour / 24, customer, key, hour, model";
/// Each item with the response that has it, whose row comes once.
const RESPONSE_ITEMS: &str = "
    select
        response_item.customer, item, response_item.id,
        case when row_number() over (partition by response_item.customer, response_item.id order by item) = 1 then row end
    from response_item
    left join response on response.customer = response_item.customer and response.id = response_item.id
    order by response_item.customer, response_item.id, item";
const RESPONSE_TOTALS: &str = "select customer, count, bytes from response_total order by customer";
/// Of each day that has logs or a count: what is counted, and how many rows there are.
const STEP_COUNTS: &str = "
    select
        day, coalesce(rows, 0),
        (select count(*) from step where task >= first_id(day) and task < first_id(day + 1))
    from (select day from step_count union select day from days() day) known
    left join step_count using (day)
    order by day";
const LENGTHS: &str = "select list, rows from list_length order by list";

/// Feeds every row of a snapshot to the rules.
///
/// # Errors
/// [`StoreError`]; what merely contradicts itself is in the report.
pub(crate) async fn examine(client: &mut Client, progress: &Progress) -> Result<Report, StoreError> {
    let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let txn = begin.start().await.map_err(|error| failed(&error))?;
    txn.batch_execute(PATIENTLY).await.map_err(|error| failed(&error))?;
    examine_in(&txn, progress).await
}

/// The same in a transaction that is open.
pub(crate) async fn examine_in(txn: &Transaction<'_>, progress: &Progress) -> Result<Report, StoreError> {
    let mut doctor = Doctor { txn, progress, examination: Examination::default(), lists: BTreeMap::new() };
    doctor.expect().await?;
    doctor.marks().await?;
    doctor.ledger().await?;
    doctor.usage().await?;
    doctor.customers().await?;
    doctor.keys().await?;
    doctor.holds().await?;
    doctor.tasks().await?;
    doctor.steps().await?;
    doctor.names().await?;
    doctor.records().await?;
    doctor.responses().await?;
    doctor.webhooks().await?;
    doctor.lengths().await?;
    Ok(doctor.examination.report())
}

struct Doctor<'a> {
    txn: &'a Transaction<'a>,
    progress: &'a Progress,
    examination: Examination,
    /// How long the lists are that are counted as they change.
    lists: BTreeMap<&'static str, u64>,
}

impl Doctor<'_> {
    async fn expect(&self) -> Result<(), StoreError> {
        let row = self.txn.query_typed_one(ROWS, &[]).await.map_err(|error| failed(&error))?;
        self.progress.expect_rows(count(&row, 0)?);
        Ok(())
    }

    /// The newest marks of the audit record.
    async fn marks(&mut self) -> Result<(), StoreError> {
        for row in query(self.txn, MARKED, vec![limit(MARKS)]).await? {
            let record: AuditRecord = decoded("audit", &row, 0)?;
            record.mark.into_iter().for_each(|mark| self.examination.mark(record.at, mark));
        }
        Ok(())
    }

    /// The ledger, the balances beside its entries, and what was paid in and taken back.
    async fn ledger(&mut self) -> Result<(), StoreError> {
        let (mut balances, mut paid) = (Balances::default(), Deposits::default());
        walk(self.txn, ENTRIES, |row| {
            let entry = entry(row)?;
            self.progress.check_rows(1);
            self.examination.entry(&entry);
            balances.entry(&entry, column(row, 15)?, column(row, 16)?);
            paid.add(&entry);
            Ok(())
        })
        .await?;
        for (kind, owner) in balances.wrong {
            self.examination.look_up(format!(
                "statement of {kind} {owner}: the balances beside its ledger rows are not their sums"
            ));
        }
        walk(self.txn, DEPOSIT_DAYS, |row| {
            let day = u32::try_from(column::<i32>(row, 1)?).unwrap_or_default();
            let sums = (column(row, 2)?, column(row, 3)?);
            compare_deposits(&mut paid, column(row, 0)?, day, sums, &mut self.examination);
            Ok(())
        })
        .await?;
        missing_deposits(&paid, &mut self.examination);
        Ok(())
    }

    async fn usage(&mut self) -> Result<(), StoreError> {
        let mut days = Sums::default();
        walk(self.txn, USAGE_DAYS, |row| add(row, &mut days).map(drop)).await?;
        let days = days.of_days(&mut self.examination);
        let mut hours: Option<(u32, Sums)> = None;
        walk(self.txn, USAGE_HOURS, |row| {
            let day = u32::try_from(column::<i32>(row, 2)?).unwrap_or_default() / 24;
            if let Some((of, sums)) = hours.take_if(|(of, _)| *of != day) {
                sums.of_hours(of, &days, &mut self.examination);
            }
            add(row, &mut hours.get_or_insert_with(|| (day, Sums::default())).1)
        })
        .await?;
        if let Some((of, sums)) = hours {
            sums.of_hours(of, &days, &mut self.examination);
        }
        Ok(())
    }

    /// Visits every row of a table, and notes those whose columns are not what they say.
    async fn each<T: Kind>(
        &mut self,
        table: &Stored,
        order: &str,
        mut visit: impl FnMut(&mut Examination, &T, &Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        walk(self.txn, &table.all(order), |answer| {
            let (key, row) = table.read(answer)?;
            if let Some(row) = T::of(&row) {
                visit(&mut self.examination, row, answer)?;
            }
            if !is_found(answer, &key, &row)? {
                let name = name_of(&key);
                self.examination
                    .look_up(format!("{name}: the columns beside its row are not what the row says"));
            }
            Ok(())
        })
        .await
    }

    async fn customers(&mut self) -> Result<(), StoreError> {
        let (progress, mut all, mut without_credit) = (self.progress, 0, 0);
        self.each(&stored::CUSTOMERS, "id", |examination, customer: &Customer, _| {
            progress.check_rows(1);
            all += 1;
            without_credit += u64::from(!customer.has_credit());
            examination.customer(customer);
            Ok(())
        })
        .await?;
        self.lists.extend([(CUSTOMERS, all), (WITHOUT_CREDIT, without_credit)]);
        Ok(())
    }

    async fn keys(&mut self) -> Result<(), StoreError> {
        let progress = self.progress;
        self.each(&stored::KEYS, "id", |examination, key: &Key, _| {
            progress.check_rows(1);
            examination.key(key);
            Ok(())
        })
        .await
    }

    async fn holds(&mut self) -> Result<(), StoreError> {
        let progress = self.progress;
        self.each(&stored::HOLDS, "of_task, id", |examination, hold: &Hold, _| {
            progress.check_rows(1);
            examination.hold(hold);
            Ok(())
        })
        .await
    }

    async fn tasks(&mut self) -> Result<(), StoreError> {
        let progress = self.progress;
        self.each(&stored::TASKS, "not live, id", |examination, task: &Task, _| {
            progress.check_rows(1);
            if task.status.is_final() {
                examination.finished(task);
            } else {
                examination.live(task);
            }
            Ok(())
        })
        .await
    }

    /// The counts of the rows of logs.
    async fn steps(&mut self) -> Result<(), StoreError> {
        walk(self.txn, STEP_COUNTS, |row| {
            let (day, counted, rows): (i32, u64, u64) = (column(row, 0)?, count(row, 1)?, count(row, 2)?);
            if counted != rows {
                self.examination
                    .look_up(format!("logs of day {day}: they have {rows} rows, and {counted} are counted"));
            }
            Ok(())
        })
        .await
    }

    async fn names(&mut self) -> Result<(), StoreError> {
        let (progress, mut names) = (self.progress, 0);
        self.each(&stored::NAMES, "customer, name", |examination, record: &NameRecord, answer| {
            progress.check_rows(1);
            names += 1;
            examination.name(record, Some(&CustomerId(column(answer, 2)?)));
            Ok(())
        })
        .await?;
        self.examination.name_owners(names);
        Ok(())
    }

    async fn records(&mut self) -> Result<(), StoreError> {
        walk(self.txn, &stored::PRICE_BOOKS.all("number"), |row| {
            let book: PriceVersion = decoded("price_book", row, 0)?;
            self.examination.price_book(count(row, 1)?, book);
            Ok(())
        })
        .await?;
        walk(self.txn, &stored::DEPLOYMENTS.all("number"), |row| {
            let report: DeploymentRecord = decoded("deployment", row, 0)?;
            self.examination.deployment(count(row, 1)?, &report);
            Ok(())
        })
        .await
    }

    async fn responses(&mut self) -> Result<(), StoreError> {
        let mut totals: BTreeMap<String, ResponseTotals> = BTreeMap::new();
        self.each(&stored::RESPONSES, "customer, id", |_, record: &ResponseRecord, _| {
            let kept = totals.entry(storable(&record.customer.0).into_owned()).or_default();
            *kept = kept.with(record);
            Ok(())
        })
        .await?;
        self.response_items().await?;
        self.response_totals(totals).await
    }

    /// An item that two responses have had is found in the last one, and in none once that is forgotten: only what is found must fit.
    async fn response_items(&mut self) -> Result<(), StoreError> {
        let mut of: Option<ResponseRecord> = None;
        walk(self.txn, RESPONSE_ITEMS, |row| {
            let (customer, item, id): (&str, &str, &str) =
                (column(row, 0)?, column(row, 1)?, column(row, 2)?);
            if column::<Option<&[u8]>>(row, 3)?.is_some() {
                of = Some(decoded("response", row, 3)?);
            }
            let has = |record: &ResponseRecord| {
                storable(&record.customer.0) == customer
                    && storable(&record.id) == id
                    && record.items.iter().any(|own| storable(own) == item)
            };
            if !of.as_ref().is_some_and(has) {
                self.examination
                    .look_up(format!("item {item} of a response: {id} of {customer} has no such item"));
            }
            Ok(())
        })
        .await
    }

    /// `sums` are those of the rows.
    async fn response_totals(
        &mut self,
        mut sums: BTreeMap<String, ResponseTotals>,
    ) -> Result<(), StoreError> {
        let mut wrong = |customer: &str, rows: ResponseTotals, counted: ResponseTotals| {
            self.examination.look_up(format!(
                "responses of {customer}: there are {} of {} bytes, and {} of {} bytes are counted",
                rows.count, rows.bytes, counted.count, counted.bytes
            ));
        };
        walk(self.txn, RESPONSE_TOTALS, |row| {
            let counted = ResponseTotals { count: count(row, 1)?, bytes: count(row, 2)? };
            let customer: &str = column(row, 0)?;
            let rows = sums.remove(customer).unwrap_or_default();
            if rows != counted {
                wrong(customer, rows, counted);
            }
            Ok(())
        })
        .await?;
        for (customer, rows) in sums {
            wrong(&customer, rows, ResponseTotals::default());
        }
        Ok(())
    }

    async fn webhooks(&mut self) -> Result<(), StoreError> {
        let (mut troubled, mut waiting) = (0, 0);
        self.each(&stored::WEBHOOKS, "id", |_, webhook: &WebhookEndpoint, _| {
            troubled += u64::from(webhook.is_troubled());
            Ok(())
        })
        .await?;
        self.each(&stored::DELIVERIES, "id", |_, delivery: &WebhookDelivery, _| {
            waiting += u64::from(delivery.due().is_some());
            Ok(())
        })
        .await?;
        self.lists.extend([(TROUBLED_WEBHOOKS, troubled), (WAITING_DELIVERIES, waiting)]);
        Ok(())
    }

    /// Once every row was seen.
    async fn lengths(&mut self) -> Result<(), StoreError> {
        walk(self.txn, LENGTHS, |row| {
            let (list, counted): (&str, u64) = (column(row, 0)?, count(row, 1)?);
            let rows = self.lists.remove(list).unwrap_or_default();
            if rows != counted {
                self.examination
                    .look_up(format!("list of {list}: it has {rows} rows, and {counted} are counted"));
            }
            Ok(())
        })
        .await?;
        for (list, rows) in self.lists.iter().filter(|(_, rows)| **rows != 0) {
            self.examination.look_up(format!("list of {list}: it has {rows} rows, and none is counted"));
        }
        Ok(())
    }
}

/// What a row is called.
fn name_of(key: &RowKey) -> String {
    match key {
        RowKey::Customer(id) => format!("customer {id}"),
        RowKey::Delivery(id) => format!("delivery {id}"),
        RowKey::Hold(id) => format!("hold {id}"),
        RowKey::Key(id) => format!("key {id}"),
        RowKey::Name(name) => format!("name {name}"),
        RowKey::Response(_, id) => format!("response {id}"),
        RowKey::Task(id) => format!("task {id}"),
        RowKey::Webhook(id) => format!("webhook {id}"),
        other => format!("row {other:?}"),
    }
}

fn add(row: &Row, sums: &mut Sums) -> Result<(), StoreError> {
    if let Some(row) = usage_row(row)? {
        sums.add(row);
    }
    Ok(())
}

/// Balances that the entries so far sum up to.
#[derive(Default)]
struct Balances {
    sums: BTreeMap<(&'static str, String), i64>,
    wrong: BTreeSet<(&'static str, String)>,
}

impl Balances {
    fn entry(&mut self, entry: &JournalEntry, available: i64, used: Option<i64>) {
        let moved = entry.movement;
        self.add("customer", &entry.customer.0, moved.available.0, Some(available));
        if let Some(key) = &entry.key {
            self.add("key", &key.0, moved.reserved.0.wrapping_add(moved.spent.0), used);
        }
    }

    fn add(&mut self, kind: &'static str, owner: &str, change: i64, found: Option<i64>) {
        let sum = self.sums.entry((kind, owner.to_owned())).or_default();
        // A ledger whose sums do not fit is found elsewhere.
        *sum = sum.wrapping_add(change);
        if found != Some(*sum) {
            self.wrong.insert((kind, owner.to_owned()));
        }
    }
}

fn failed(error: &Error) -> StoreError {
    store_error("an examination of the database", error)
}
