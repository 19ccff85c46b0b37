//! Reads the sums of usage of a range of hours or days: of all customers together, of one, of one key, or of each.
//!
//! Every read ends after so many rows and says whether it saw all; the next one can go on after its last row. Groups that
//! are not asked for are skipped by looking up the next one. Runs on a blocking thread, a few at a time.

use std::ops::Range;

use gatehouse_model::{CustomerId, KeyId};
use gatehouse_tasks::UsageSums;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{USAGE_DAYS, USAGE_HOURS, UsageRowKey};
use crate::table::{Entry, ReadRows};

const HOURS_PER_DAY: u32 = 24;

/// What a row sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsagePeriod {
    /// An hour; kept for [`crate::KEPT_DAYS_OF_HOURS`] days.
    Hour,
    /// A day.
    Day,
}

/// Whose usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// All customers together.
    All,
    /// All keys of a customer together.
    Customer(CustomerId),
    /// One key.
    Key(CustomerId, KeyId),
    /// Every customer, each for itself.
    EachCustomer,
    /// Every key, of one customer or of all, each for itself.
    EachKey(Option<CustomerId>),
}

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    /// Whose.
    pub scope: UsageScope,
    /// By hour or by day.
    pub period: UsagePeriod,
    /// Hours or days since the epoch, UTC.
    pub range: Range<u32>,
    /// Only what comes after this position in the order of reading.
    pub after: Option<UsagePosition>,
    /// At most so many rows are read and one more, looking up a group included.
    pub max_rows: usize,
}

/// Where a read ended and the next one goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsagePosition {
    /// The customer; empty for all together.
    pub customer: CustomerId,
    /// The key; empty for all together.
    pub key: KeyId,
    /// Hours or days since the epoch.
    pub period: u32,
    /// The model of the last row; `None` before the first one of that customer and key.
    pub model: Option<String>,
}

impl From<&UsageRow> for UsagePosition {
    fn from(row: &UsageRow) -> Self {
        let UsageRow { customer, key, period, model, .. } = row.clone();
        Self { customer, key, period, model: Some(model) }
    }
}

/// Sums of one hour or day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRow {
    /// The customer; empty for all together.
    pub customer: CustomerId,
    /// The key; empty for all together.
    pub key: KeyId,
    /// Hours or days since the epoch.
    pub period: u32,
    /// Canonical model; empty where it is unknown.
    pub model: String,
    /// The sums.
    pub sums: UsageSums,
}

impl UsageRow {
    pub(crate) fn read(entry: &Entry<'_, UsageRowKey, UsageSums>) -> Result<Self, StoreError> {
        let (customer, key, period, model) = entry.key()?;
        Ok(Self { customer: CustomerId(customer), key: KeyId(key), period, model, sums: entry.row()? })
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageRows {
    /// Hours come day by day, otherwise by customer, key, time and model.
    pub rows: Vec<UsageRow>,
    /// Where the next read goes on; `None` where this was all.
    pub next: Option<UsagePosition>,
    /// Rows read, looking up a group included.
    pub rows_read: usize,
}

/// Sums of usage.
pub(crate) fn usage(txn: &ReadTransaction, query: &UsageQuery) -> Result<UsageRows, StoreError> {
    let mut found = UsageRows::default();
    match query.period {
        UsagePeriod::Day => {
            let table = USAGE_DAYS.open(txn)?;
            let first = query.range.start;
            found.next =
                Reading { table: &table, query, first, found: &mut found }.run(query.after.as_ref())?;
        }
        UsagePeriod::Hour => {
            let days = USAGE_HOURS.days(txn.list_tables()?);
            let (first, end) = (query.range.start / HOURS_PER_DAY, query.range.end.div_ceil(HOURS_PER_DAY));
            let after = query.after.as_ref();
            let first = after.map_or(first, |row| first.max(row.period / HOURS_PER_DAY));
            for day in days.into_iter().filter(|day| (first..end).contains(day)) {
                let table = USAGE_HOURS.of(day).open(txn)?;
                let after = after.filter(|row| row.period / HOURS_PER_DAY == day);
                let first = query.range.start.max(day * HOURS_PER_DAY);
                found.next = Reading { table: &table, query, first, found: &mut found }.run(after)?;
                if found.next.is_some() {
                    break;
                }
            }
        }
    }
    Ok(found)
}

/// One table being read.
struct Reading<'a> {
    table: &'a ReadRows<UsageRowKey, UsageSums>,
    query: &'a UsageQuery,
    /// The first hour or day that is read.
    first: u32,
    found: &'a mut UsageRows,
}

impl Reading<'_> {
    /// Reads to the end of the table, or to the position where it has read enough.
    fn run(&mut self, after: Option<&UsagePosition>) -> Result<Option<UsagePosition>, StoreError> {
        let of = |customer: &CustomerId, key: &str| (customer.0.clone(), key.to_owned());
        let only = match &self.query.scope {
            UsageScope::All => Some((String::new(), String::new())),
            UsageScope::Customer(customer) => Some(of(customer, "")),
            UsageScope::Key(customer, key) => Some(of(customer, &key.0)),
            UsageScope::EachCustomer | UsageScope::EachKey(_) => None,
        };
        if let Some((customer, key)) = only {
            return self.group(&customer, &key, after);
        }
        let mut next = match (after, &self.query.scope) {
            (Some(position), _) => self.before(position.customer.0.clone(), position.key.0.clone()),
            // No id is empty, so this is the first text that can be one.
            (None, UsageScope::EachKey(Some(customer))) => self.before(customer.0.clone(), "\0".to_owned()),
            (None, _) => self.before("\0".to_owned(), String::new()),
        };
        loop {
            if self.is_full() {
                return Ok(Some(next));
            }
            let Some((customer, key)) = self.group_from(&next)? else { return Ok(None) };
            next = match &self.query.scope {
                UsageScope::EachCustomer => {
                    if let Some(position) = self.group(&customer, "", after)? {
                        return Ok(Some(position));
                    }
                    self.before(customer + "\0", String::new())
                }
                UsageScope::EachKey(Some(only)) if only.0 != customer => return Ok(None),
                _ if key.is_empty() => self.before(customer, "\0".to_owned()),
                _ => {
                    if let Some(position) = self.group(&customer, &key, after)? {
                        return Ok(Some(position));
                    }
                    self.before(customer, key + "\0")
                }
            };
        }
    }

    fn is_full(&self) -> bool {
        self.found.rows_read >= self.query.max_rows
    }

    /// The position before the first row of a group.
    fn before(&self, customer: String, key: String) -> UsagePosition {
        UsagePosition { customer: CustomerId(customer), key: KeyId(key), period: self.first, model: None }
    }

    /// The first group whose rows are not before the position.
    fn group_from(&mut self, from: &UsagePosition) -> Result<Option<(String, String)>, StoreError> {
        self.found.rows_read += 1;
        let first = self.table.keys((from.customer.0.as_str(), from.key.0.as_str(), 0, "")..)?.next();
        Ok(first.transpose()?.map(|(customer, key, ..)| (customer, key)))
    }

    /// Reads to the end of the group, or to the position where it has read enough.
    fn group(
        &mut self,
        customer: &str,
        key: &str,
        after: Option<&UsagePosition>,
    ) -> Result<Option<UsagePosition>, StoreError> {
        let after = after.filter(|position| position.customer.0 == customer && position.key.0 == key);
        let after = after.and_then(|position| Some((position.period, position.model.as_ref()?)));
        let after = after.filter(|(period, _)| *period >= self.first);
        let end = self.query.range.end;
        let start = after.map_or(self.first, |(period, _)| period);
        // The first text that is greater.
        let model = after.map_or_else(String::new, |(_, model)| format!("{model}\0"));
        if start >= end {
            return Ok(None);
        }
        let mut last = self.before(customer.to_owned(), key.to_owned());
        if let Some((period, model)) = after {
            (last.period, last.model) = (period, Some(model.clone()));
        }
        for row in self.table.range((customer, key, start, model.as_str())..(customer, key, end, ""))? {
            // One row more, so that a read that begins with looking a group up gets on.
            if self.found.rows_read > self.query.max_rows {
                return Ok(Some(last));
            }
            self.found.rows_read += 1;
            let row = UsageRow::read(&row?)?;
            last = UsagePosition::from(&row);
            self.found.rows.push(row);
        }
        Ok(None)
    }
}
