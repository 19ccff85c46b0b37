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
use crate::table::ReadRows;

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

impl<T, P> RowPage<T, P> {
    /// Of what `read` makes of each: a position, and a row where it matches. Reads a bounded number of them.
    pub(crate) fn of<E>(
        found: impl Iterator<Item = Result<E, StoreError>>,
        limit: usize,
        read: impl Fn(E) -> Result<(P, Option<T>), StoreError>,
    ) -> Result<Self, StoreError> {
        let mut page = Self { rows: Vec::new(), next: None };
        let mut last = None;
        for (number, found) in found.enumerate() {
            if page.rows.len() == limit || number == MAX_ROWS_READ {
                page.next = last;
                break;
            }
            let (position, row) = read(found?)?;
            page.rows.extend(row);
            last = Some(position);
        }
        Ok(page)
    }

    /// Of rows of which one more was asked for than the page has.
    pub(crate) fn cut(mut rows: Vec<T>, limit: usize, position: impl Fn(&T) -> P) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(position);
        Self { rows, next }
    }
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
    RowPage::of(rows.range(behind(after.map(|id| &*id.0)))?, limit, |row| {
        let row = row.row()?;
        Ok((row.id.clone(), Some(row)))
    })
}

/// A page of the customers that have no credit, by id.
pub(crate) fn customers_without_credit(
    txn: &ReadTransaction,
    after: Option<&CustomerId>,
    limit: usize,
) -> Result<RowPage<Customer, CustomerId>, StoreError> {
    let (list, rows) = (layout::WITHOUT_CREDIT.open(txn)?, layout::CUSTOMERS.open(txn)?);
    RowPage::of(list.keys(behind(after.map(|id| &*id.0)))?, limit, |id| {
        let row = rows.get(&id)?;
        Ok((CustomerId(id), row))
    })
}

/// How many customers have no credit.
pub(crate) fn count_without_credit(txn: &ReadTransaction) -> Result<u64, StoreError> {
    layout::WITHOUT_CREDIT.len(txn)
}

/// A page of keys by id.
pub(crate) fn list_keys(
    txn: &ReadTransaction,
    query: &KeyQuery,
    after: Option<&KeyId>,
    limit: usize,
) -> Result<RowPage<Key, KeyId>, StoreError> {
    let rows = layout::KEYS.open(txn)?;
    RowPage::of(rows.range(behind(after.map(|id| &*id.0)))?, limit, |row| {
        let key = row.row()?;
        Ok((key.id.clone(), query.takes(&key).then_some(key)))
    })
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
    RowPage::of(table.range(span.start..end.max(span.start))?.rev(), limit, |row| {
        let (number, record) = row.both()?;
        Ok((number, query.takes(&record).then_some((number, record))))
    })
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
    let at_least = |moment: UnixMs| table.first_not(first..end, |record| record.at < moment);
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

/// All that comes after that one.
pub(crate) fn behind<T>(after: Option<T>) -> (Bound<T>, Bound<T>) {
    (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)
}
