//! The examination of the whole file, behind `gatehouse doctor`.
//!
//! Feeds every row of one snapshot to the rules of `tasks`, and compares the look-up tables with the rows: the index
//! of tasks with the tasks, the owners of names with the names, the index of the ledger, deposits by day and the sums of
//! usage with the ledger, the lists of webhooks in trouble and of customers without credit with their rows. Never
//! repairs.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::{Customer, CustomerId, WebhookId};
use gatehouse_tasks::{Examination, LedgerMark, Report, WebhookEndpoint};
use redb::{Database, DatabaseError, ReadTransaction, ReadableDatabase as _};
use serde::de::DeserializeOwned;

use crate::engine::ledger::Deposits;
use crate::error::{OpenError, StoreError};
use crate::layout::{self, HISTORY};
use crate::listing::task_index::IndexCheck;
use crate::open::schema;
use crate::statement::check::{StatementCheck, check_deposits};
use crate::table::{Table, TableKey};
use crate::{records, usage};

/// [`Store::examine_with`](crate::Store::examine_with) for the file of a store that no process has open, and where its ledger ends. The file
/// stays as it is.
///
/// # Errors
/// [`OpenError`] for a file that cannot be read as it is, or of another schema.
pub fn examine_file(path: &Path, progress: &Progress) -> Result<(Report, LedgerMark), OpenError> {
    let txn = look_at(path)?;
    let looked = examine(&txn, progress).and_then(|report| Ok((report, ledger_mark(&txn)?)));
    looked.map_err(|error| OpenError::Storage { path: path.to_owned(), reason: error.to_string() })
}

/// A snapshot of a file that no process has open and that stays as it is.
pub(crate) fn look_at(path: &Path) -> Result<ReadTransaction, OpenError> {
    let storage =
        |error: &dyn Display| OpenError::Storage { path: path.to_owned(), reason: error.to_string() };
    let database = Database::builder().set_cache_size(CACHE).open_read_only(path);
    let database = database.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path: path.to_owned() },
        other => storage(&other),
    })?;
    let txn = database.begin_read().map_err(|error| storage(&error))?;
    schema::check(&txn, path)?;
    Ok(txn)
}

/// The heads of all chains in a snapshot.
pub(crate) fn ledger_mark(txn: &ReadTransaction) -> Result<LedgerMark, StoreError> {
    let mut mark = LedgerMark::default();
    layout::CUSTOMERS.each(txn, |customer| {
        mark = mark.with(&customer.id, customer.head);
        Ok(())
    })?;
    Ok(mark)
}

/// Memory for pages of a file that is only looked at.
const CACHE: usize = 32 * 1024 * 1024;

/// Marks of the ledger that are checked: the newest. Each head stands for all entries before it.
pub(crate) const MARKS: usize = 24;

/// How far an examination is, for a caller that waits for it. The look-up tables are not counted: they are walked along.
#[derive(Debug, Default)]
pub struct Progress {
    checked: AtomicU64,
    of: AtomicU64,
}

impl Progress {
    /// Rows checked so far, and rows to check, zero before it is known.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64) {
        (self.checked.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed))
    }

    /// So many rows more are to be looked at.
    pub(crate) fn expect_rows(&self, rows: u64) {
        self.of.fetch_add(rows, Ordering::Relaxed);
    }

    /// So many rows more have been looked at.
    pub(crate) fn check_rows(&self, rows: u64) {
        self.checked.fetch_add(rows, Ordering::Relaxed);
    }

    /// Visits every row of a table.
    fn each<K: TableKey, V: DeserializeOwned>(
        &self,
        txn: &ReadTransaction,
        table: &Table<K, V>,
        mut visit: impl FnMut(V) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        table.each(txn, |row| {
            self.check_rows(1);
            visit(row)
        })
    }
}

/// Feeds every row of a snapshot to the rules.
pub(crate) fn examine(txn: &ReadTransaction, progress: &Progress) -> Result<Report, StoreError> {
    let days = HISTORY.days(txn.list_tables()?);
    progress.expect_rows(layout::LEDGER.len(txn)?);
    progress.expect_rows(layout::CUSTOMERS.len(txn)?);
    progress.expect_rows(layout::KEYS.len(txn)?);
    progress.expect_rows(layout::HOLDS.len(txn)?);
    progress.expect_rows(layout::LIVE.len(txn)?);
    progress.expect_rows(layout::NAMES.len(txn)?);
    for day in &days {
        progress.expect_rows(HISTORY.of(*day).len(txn)?);
    }
    let mut examination = Examination::default();
    let (mut statements, mut paid) = (StatementCheck::default(), Deposits::default());
    marks(txn, &mut examination)?;
    for row in layout::LEDGER.open(txn)?.range(..)? {
        let (position, entry) = row?.both()?;
        progress.check_rows(1);
        examination.entry(&entry);
        statements.entry(position, &entry);
        paid.add(&entry);
    }
    statements.rest(txn, &mut examination)?;
    check_deposits(paid, txn, &mut examination)?;
    usage::check::check(txn, &mut examination)?;
    progress.each(txn, &layout::CUSTOMERS, |customer| {
        examination.customer(&customer);
        Ok(())
    })?;
    progress.each(txn, &layout::KEYS, |key| {
        examination.key(&key);
        Ok(())
    })?;
    progress.each(txn, &layout::HOLDS, |hold| {
        examination.hold(&hold);
        Ok(())
    })?;
    let mut index = IndexCheck::new(txn)?;
    progress.each(txn, &layout::LIVE, |task| {
        examination.live(&task);
        index.task(&task, &mut examination)
    })?;
    for day in days {
        progress.each(txn, &HISTORY.of(day), |task| {
            examination.finished(&task);
            index.task(&task, &mut examination)
        })?;
    }
    index.rest(&mut examination)?;
    let owners = layout::NAME_OWNERS.open(txn)?;
    progress.each(txn, &layout::NAMES, |record| {
        examination.name(&record, owners.get(&record.claim.name)?.map(CustomerId).as_ref());
        Ok(())
    })?;
    examination.name_owners(owners.len()?);
    records::check(txn, &mut examination)?;
    let webhook = |id| format!("webhook {}", WebhookId::from_bits(id));
    let (list, troubled) = (&layout::TROUBLED_WEBHOOKS, WebhookEndpoint::is_troubled);
    check_list(txn, list, &layout::WEBHOOKS, "in trouble", troubled, webhook, &mut examination)?;
    let (customer, without) = (|id| format!("customer {id}"), |row: &Customer| !row.has_credit());
    let list = &layout::WITHOUT_CREDIT;
    check_list(txn, list, &layout::CUSTOMERS, "without credit", without, customer, &mut examination)?;
    Ok(examination.report())
}

/// Each row that `belongs` to a list is there, and nothing else is.
fn check_list<K: TableKey, V: DeserializeOwned>(
    txn: &ReadTransaction,
    list: &Table<K, ()>,
    rows: &Table<K, V>,
    what: &str,
    belongs: impl Fn(&V) -> bool,
    name: impl Fn(K) -> String,
    examination: &mut Examination,
) -> Result<(), StoreError> {
    let (list, rows) = (list.open(txn)?, rows.open(txn)?);
    for row in rows.range(..)? {
        let row = row?;
        let wrong = match (belongs(&row.row()?), list.has_key_of(&row)?) {
            (true, false) => format!("the list of those {what} misses it"),
            (false, true) => format!("it is listed as {what}, and is not"),
            _ => continue,
        };
        examination.look_up(format!("{}: {wrong}", name(row.key()?)));
    }
    for listed in list.range(..)? {
        let listed = listed?;
        if !rows.has_key_of(&listed)? {
            examination.look_up(format!("{}: it is listed as {what}, and has no row", name(listed.key()?)));
        }
    }
    Ok(())
}

/// The newest marks of the audit record.
fn marks(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let mut left = MARKS;
    for row in layout::AUDIT.open(txn)?.range(..)?.rev() {
        let record = row?.row()?;
        if let Some(mark) = record.mark {
            examination.mark(record.at, mark);
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    Ok(())
}
