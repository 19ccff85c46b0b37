//! What a statement of whole days comes to, by the sums that are kept by day: complete however many rows it has. All of it is
//! read in one snapshot, on a blocking thread.

use std::ops::Range;

use gatehouse_model::{Credits, UnixMs};
use gatehouse_tasks::UsageSums;
use redb::ReadTransaction;

use crate::engine::ledger::plus;
use crate::error::StoreError;
use crate::layout::{DEPOSIT_DAYS, KEYS, Paid, USAGE_DAYS};
use crate::statement::read::{StatementOf, StatementQuery, last_balance};

/// The sums of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementTotals {
    /// Paid in; by a key's statement nothing is.
    pub deposited: Credits,
    /// Taken back, as a positive amount.
    pub withdrawn: Credits,
    /// Spent.
    pub spent: Credits,
    /// The balance before the first day; none for all customers together.
    pub opening: Option<Credits>,
    /// The balance after the last day.
    pub closing: Option<Credits>,
}

/// The sums of a statement of days.
pub(crate) fn statement_totals(
    txn: &ReadTransaction,
    of: &StatementOf,
    days: &Range<u32>,
    max_rows: usize,
) -> Result<Option<StatementTotals>, StoreError> {
    let (customer, key) = match of {
        StatementOf::All => (String::new(), String::new()),
        StatementOf::Customer(customer) => (customer.0.clone(), String::new()),
        StatementOf::Key(key) => {
            let Some(found) = KEYS.find(txn, &key.0)? else { return Ok(Some(StatementTotals::default())) };
            (found.customer.0, key.0.clone())
        }
    };
    let mut left = max_rows;
    let Some(spent) = spent(txn, &customer, &key, days, &mut left)? else { return Ok(None) };
    let paid = match of {
        StatementOf::Key(_) => Some(Paid::default()),
        StatementOf::All | StatementOf::Customer(_) => paid(txn, &customer, days, &mut left)?,
    };
    let Some((deposited, withdrawn)) = paid else { return Ok(None) };
    let before = |day: u32| -> Result<Option<Credits>, StoreError> {
        let created = UnixMs(0)..UnixMs::of_day(day);
        let query = StatementQuery { of: of.clone(), created, before: None, limit: 1 };
        last_balance(txn, &query)
    };
    Ok(Some(StatementTotals {
        deposited: Credits(deposited),
        withdrawn: Credits(withdrawn),
        spent,
        opening: before(days.start)?,
        closing: before(days.end)?,
    }))
}

/// What these days' requests were charged.
fn spent(
    txn: &ReadTransaction,
    customer: &str,
    key: &str,
    days: &Range<u32>,
    left: &mut usize,
) -> Result<Option<Credits>, StoreError> {
    let mut spent = UsageSums::default();
    let usage = USAGE_DAYS.open(txn)?;
    for row in usage.range((customer, key, days.start, "")..(customer, key, days.end, ""))? {
        if !take(left) {
            return Ok(None);
        }
        spent.add(&row?.row()?);
    }
    Ok(Some(spent.settled))
}

fn paid(
    txn: &ReadTransaction,
    customer: &str,
    days: &Range<u32>,
    left: &mut usize,
) -> Result<Option<Paid>, StoreError> {
    let mut sums = Paid::default();
    for row in DEPOSIT_DAYS.open(txn)?.range((customer, days.start)..(customer, days.end))? {
        if !take(left) {
            return Ok(None);
        }
        sums = plus(sums, row?.row()?);
    }
    Ok(Some(sums))
}

/// Whether one row more may be read.
fn take(left: &mut usize) -> bool {
    let may = *left > 0;
    *left = left.saturating_sub(1);
    may
}
