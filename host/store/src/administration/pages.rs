//! Pages of customers, of keys and of the audit record, as operators read them.
//!
//! Each reads a bounded number of rows from where the page before ended, whatever the filter leaves of them: a page may be
//! shorter than its limit although more rows follow, and `next` says so. Reads on a blocking thread. Never writes.

use std::ops::{Bound, Range};

use gatehouse_model::{Customer, CustomerId, Key, KeyId, TaskId, UnixMs};
use gatehouse_tasks::{AuditRecord, JournalEntry};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout;
use crate::table::{Entry, ReadRows};

/// Rows that one page looks at, at most.
pub(crate) const MAX_ROWS_READ: usize = 2_000;

/// Rows, and where the next page begins; `None` after the last row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPage<T, P> {
    /// The rows that match.
    pub rows: Vec<T>,
    /// The position of the last row looked at.
    pub next: Option<P>,
}

/// Which keys to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyQuery {
    /// Only of this customer.
    pub customer: Option<CustomerId>,
    /// Only those whose name contains this text, in any case of letters.
    pub name: Option<String>,
    /// Only those in one of these states; empty for all.
    pub states: Vec<KeyState>,
    /// The moment at which the states are told.
    pub at: UnixMs,
}

/// Whether a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It works.
    Active,
    /// Its expiry has come.
    Expired,
    /// It was revoked.
    Revoked,
}

impl KeyState {
    /// The state of a key at a moment.
    #[must_use]
    pub fn of(key: &Key, at: UnixMs) -> Self {
        match key {
            key if key.revoked.is_some() => Self::Revoked,
            key if key.expires.is_some_and(|expires| expires <= at) => Self::Expired,
            _ => Self::Active,
        }
    }
}

/// Which lines of the audit record to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only about this task.
    pub task: Option<TaskId>,
    /// Only what the gateway decided by itself, no requests and no marks of the ledger.
    pub decisions: bool,
    /// Only requests of one of these operations; empty for all lines.
    pub operations: Vec<String>,
    /// Only requests about this object, or about what is below it.
    pub object: Option<String>,
    /// Only requests by this token or session.
    pub who: Option<String>,
    /// Only from this moment on.
    pub from: Option<UnixMs>,
    /// Only before this moment.
    pub before: Option<UnixMs>,
}

/// A page of customers by id.
pub(crate) fn list_customers(
    txn: &ReadTransaction,
    after: Option<&CustomerId>,
    limit: usize,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    let rows = layout::CUSTOMERS.open(txn)?;
    customers(&rows, after, limit, |row| row.row().map(Some))
}

/// A page of the customers that have no credit, by id.
pub(crate) fn customers_without_credit(
    txn: &ReadTransaction,
    after: Option<&CustomerId>,
    limit: usize,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    let (list, rows) = (layout::WITHOUT_CREDIT.open(txn)?, layout::CUSTOMERS.open(txn)?);
    customers(&list, after, limit, |listed| rows.get(&listed.key()?))
}

/// How many customers have no credit.
pub(crate) fn count_without_credit(txn: &ReadTransaction) -> Result<u64, StoreError> {
    Ok(layout::WITHOUT_CREDIT.len(txn)?)
}

/// A page of keys by id.
pub(crate) fn list_keys(
    txn: &ReadTransaction,
    query: &KeyQuery,
    after: Option<&KeyId>,
    limit: usize,
) -> Result<RowPage<Key, KeyId>, StoreError> {
    let table = layout::KEYS.open(txn)?;
    let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(id.0.as_str()));
    let mut page = RowPage { rows: Vec::new(), next: None };
    let mut last = None;
    for (read, row) in table.range((from, Bound::Unbounded))?.enumerate() {
        if page.rows.len() == limit || read == MAX_ROWS_READ {
            page.next = last;
            break;
        }
        let key = row?.row()?;
        last = Some(key.id.clone());
        if query.takes(&key) {
            page.rows.push(key);
        }
    }
    Ok(page)
}

/// A page of the audit record, newest first.
pub(crate) fn list_audit(
    txn: &ReadTransaction,
    query: &AuditQuery,
    before: Option<u64>,
    limit: usize,
) -> Result<RowPage<(u64, AuditRecord), u64>, StoreError> {
    let table = layout::AUDIT.open(txn)?;
    let span = span(&table, query)?;
    let end = before.map_or(span.end, |before| before.min(span.end));
    let mut page = RowPage { rows: Vec::new(), next: None };
    let mut last = None;
    for (read, row) in table.range(span.start..end.max(span.start))?.rev().enumerate() {
        if page.rows.len() == limit || read == MAX_ROWS_READ {
            page.next = last;
            break;
        }
        let (number, record) = row?.both()?;
        last = Some(number);
        if query.takes(&record) {
            page.rows.push((number, record));
        }
    }
    Ok(page)
}

/// How many lines of the audit record lie in the range of time of `query`.
pub(crate) fn audit_span(txn: &ReadTransaction, query: &AuditQuery) -> Result<u64, StoreError> {
    let span = span(&layout::AUDIT.open(txn)?, query)?;
    Ok(span.end.saturating_sub(span.start))
}

/// The ledger row of that number.
pub(crate) fn journal_entry(txn: &ReadTransaction, number: u64) -> Result<Option<JournalEntry>, StoreError> {
    layout::LEDGER.find(txn, number)
}

/// The numbers of the lines in the range of time of a query. Lines are numbered without gaps, in the order of time, so their
/// ends are found by halving.
fn span(table: &ReadRows<u64, AuditRecord>, query: &AuditQuery) -> Result<Range<u64>, StoreError> {
    let first = table.first()?.unwrap_or(0);
    let end = table.last()?.map_or(first, |number| number.saturating_add(1));
    let at_least = |moment: UnixMs| -> Result<u64, StoreError> {
        let (mut low, mut high) = (first, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if table.get(middle)?.is_some_and(|record| record.at < moment) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    };
    Ok(query.from.map_or(Ok(first), at_least)?..query.before.map_or(Ok(end), at_least)?)
}

impl KeyQuery {
    pub(crate) fn takes(&self, key: &Key) -> bool {
        let named = |name: &String| key.name.to_lowercase().contains(&name.to_lowercase());
        self.customer.as_ref().is_none_or(|customer| key.customer == *customer)
            && self.name.as_ref().is_none_or(named)
            && (self.states.is_empty() || self.states.contains(&KeyState::of(key, self.at)))
    }
}

impl AuditQuery {
    pub(crate) fn takes(&self, record: &AuditRecord) -> bool {
        let request = record.request.as_ref();
        let below = |object: &str, whole: &str| {
            object.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.task.is_none_or(|task| record.task == Some(task))
            && !(self.decisions && (request.is_some() || record.mark.is_some()))
            && (self.operations.is_empty()
                || request.is_some_and(|request| self.operations.contains(&request.operation)))
            && self
                .object
                .as_ref()
                .is_none_or(|object| request.is_some_and(|request| below(&request.object, object)))
            && self.who.as_ref().is_none_or(|who| request.is_some_and(|request| request.who == *who))
    }
}

/// A page of what `row` reads of a table by customers' ids.
fn customers<V>(
    table: &ReadRows<String, V>,
    after: Option<&CustomerId>,
    limit: usize,
    row: impl Fn(Entry<'_, String, V>) -> Result<Option<Customer>, StoreError>,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(id.0.as_str()));
    let mut page = RowPage { rows: Vec::new(), next: None };
    for entry in table.range((from, Bound::Unbounded))? {
        if page.rows.len() == limit {
            page.next = page.rows.last().map(|last: &Customer| last.id.clone());
            break;
        }
        page.rows.extend(row(entry?)?);
    }
    Ok(page)
}
