//! Pages of a statement, newest first. A page reads the index of its customer or key backwards from where it begins; a
//! moment is found by halving the ledger, whose rows are in the order of time. Runs on a blocking thread, a few at a time.

use std::ops::Range;

use gatehouse_model::{Credits, Customer, CustomerId, KeyId, UnixMs};
use gatehouse_tasks::JournalEntry;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{self, CUSTOMER_ROWS, KEY_ROWS};
use crate::table::ReadRows;

/// Whose statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementOf {
    /// Every row of the ledger, without balances.
    All,
    /// A customer's, with what it had free.
    Customer(CustomerId),
    /// A key's, with what it had used.
    Key(KeyId),
}

/// Which rows to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementQuery {
    /// Whose.
    pub of: StatementOf,
    /// Only rows of that time.
    pub created: Range<UnixMs>,
    /// Only rows before this one.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: usize,
}

/// A row of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRow {
    /// Its position: later rows have higher ones.
    pub position: u64,
    /// The row of the ledger.
    pub entry: JournalEntry,
    /// What the customer had free, or the key had used, after it.
    pub after: Option<Credits>,
}

/// A page of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementPage {
    /// Newest first.
    pub rows: Vec<StatementRow>,
    /// Where the next page begins ([`StatementQuery::before`]); `None` where this is the last one.
    pub next: Option<u64>,
    /// Rows of the index and of the ledger that were read.
    pub rows_read: usize,
}

/// How many rows a statement has, its limit left out; no more than `max` are counted.
pub(crate) fn count_statement(
    txn: &ReadTransaction,
    query: &StatementQuery,
    max: usize,
) -> Result<usize, StoreError> {
    let query = StatementQuery { limit: max, ..query.clone() };
    let ledger = layout::LEDGER.open(txn)?;
    Ok(shown(txn, &ledger, &query, &mut StatementPage::default())?.len().min(max))
}

/// A customer's ledger rows behind a position, and the customer.
pub(crate) fn statement_behind(
    txn: &ReadTransaction,
    id: &CustomerId,
    position: Option<u64>,
    limit: usize,
) -> Result<Option<(Customer, Vec<StatementRow>)>, StoreError> {
    let customer = layout::CUSTOMERS.find(txn, id.0.as_str())?;
    let Some(customer) = customer else { return Ok(None) };
    Ok(Some((customer, behind(txn, &id.0, position, limit)?)))
}

type Ledger = ReadRows<u64, JournalEntry>;

/// A page of a statement.
pub(crate) fn statement(txn: &ReadTransaction, query: &StatementQuery) -> Result<StatementPage, StoreError> {
    let mut page = StatementPage::default();
    let ledger = layout::LEDGER.open(txn)?;
    if query.limit == 0 {
        return Ok(page);
    }
    for (position, after) in shown(txn, &ledger, query, &mut page)? {
        if page.rows.len() == query.limit {
            page.next = page.rows.last().map(|row| row.position);
            break;
        }
        page.rows_read += 1;
        page.rows.push(row(&ledger, position, after)?);
    }
    Ok(page)
}

fn row(ledger: &Ledger, position: u64, after: Option<Credits>) -> Result<StatementRow, StoreError> {
    let entry = ledger.get(position)?;
    let entry = entry.ok_or_else(|| StoreError::failed(format_args!("ledger row {position} is missing")))?;
    Ok(StatementRow { position, entry, after })
}

/// The first rows of a customer's statement behind a position.
fn behind(
    txn: &ReadTransaction,
    customer: &str,
    position: Option<u64>,
    limit: usize,
) -> Result<Vec<StatementRow>, StoreError> {
    let from = position.map_or(0, |position| position.saturating_add(1));
    let (index, ledger) = (layout::LEDGER_INDEX.open(txn)?, layout::LEDGER.open(txn)?);
    let of = |position: u64| (CUSTOMER_ROWS, customer, position);
    // The row that lists it may begin before it.
    let first = index.keys(of(0)..=of(from))?.next_back().transpose()?;
    let first = first.map_or(from, |(.., first)| first);
    let mut rows = Vec::new();
    for listed in index.range(of(first)..=of(u64::MAX))? {
        for (position, after) in listed?.row()?.into_iter().filter(|(position, _)| *position >= from) {
            if rows.len() == limit {
                return Ok(rows);
            }
            rows.push(row(&ledger, position, Some(after))?);
        }
    }
    Ok(rows)
}

/// The balance after the last row of a statement: none of all customers together, zero before any row.
pub(super) fn last_balance(
    txn: &ReadTransaction,
    query: &StatementQuery,
) -> Result<Option<Credits>, StoreError> {
    if query.of == StatementOf::All {
        return Ok(None);
    }
    let ledger = layout::LEDGER.open(txn)?;
    let last = shown(txn, &ledger, query, &mut StatementPage::default())?.into_iter().next();
    Ok(Some(last.and_then(|(_, after)| after).unwrap_or_default()))
}

/// Positions of the rows to show, one more than the limit where there are more.
fn shown(
    txn: &ReadTransaction,
    ledger: &Ledger,
    query: &StatementQuery,
    page: &mut StatementPage,
) -> Result<Vec<(u64, Option<Credits>)>, StoreError> {
    let end = match query.created.end {
        UnixMs(u64::MAX) => u64::MAX,
        end => first_since(ledger, end, &mut page.rows_read)?,
    };
    let start = match query.created.start {
        UnixMs(0) => 0,
        start => first_since(ledger, start, &mut page.rows_read)?,
    };
    let span = start..query.before.map_or(end, |before| before.min(end));
    if span.is_empty() {
        return Ok(Vec::new());
    }
    match &query.of {
        StatementOf::All => whole(ledger, span, query.limit, &mut page.rows_read),
        StatementOf::Customer(customer) => listed(txn, CUSTOMER_ROWS, &customer.0, span, query.limit, page),
        StatementOf::Key(key) => listed(txn, KEY_ROWS, &key.0, span, query.limit, page),
    }
}

/// Positions of the last rows of the ledger, one more than the limit.
fn whole(
    ledger: &Ledger,
    span: Range<u64>,
    limit: usize,
    rows_read: &mut usize,
) -> Result<Vec<(u64, Option<Credits>)>, StoreError> {
    let mut shown = Vec::new();
    for position in ledger.keys(span)?.rev().take(limit.saturating_add(1)) {
        *rows_read += 1;
        shown.push((position?, None));
    }
    Ok(shown)
}

/// The same of a customer or key.
fn listed(
    txn: &ReadTransaction,
    kind: &str,
    owner: &str,
    span: Range<u64>,
    limit: usize,
    page: &mut StatementPage,
) -> Result<Vec<(u64, Option<Credits>)>, StoreError> {
    let index = layout::LEDGER_INDEX.open(txn)?;
    let mut shown = Vec::new();
    for row in index.range((kind, owner, 0)..(kind, owner, span.end))?.rev() {
        page.rows_read += 1;
        for (seq, after) in row?.row()?.into_iter().rev().filter(|(seq, _)| *seq < span.end) {
            if seq < span.start || shown.len() > limit {
                return Ok(shown);
            }
            shown.push((seq, Some(after)));
        }
    }
    Ok(shown)
}

/// The position of the first row that is not before that moment.
fn first_since(ledger: &Ledger, moment: UnixMs, rows_read: &mut usize) -> Result<u64, StoreError> {
    let end = ledger.last()?.map_or(0, |last| last.saturating_add(1));
    ledger.first_not(0..end, |entry| {
        *rows_read += 1;
        entry.at < moment
    })
}
