//! The sums of usage, added to once for each commit.
//!
//! Every ended request is counted in six rows: of its key, its customer and all customers, by hour and by day. Hours are in
//! one table a day, so that forgetting them is dropping a table.

use std::collections::BTreeMap;

use gatehouse_tasks::{RowChange, RowKey, UsageSums};
use redb::WriteTransaction;

use crate::engine::write::sides;
use crate::error::StoreError;
use crate::layout::{USAGE_DAYS, USAGE_HOURS, UsageRowKey};
use crate::table::WriteRows;

/// Days whose sums by hour are kept; those by day are kept for ever.
pub const KEPT_DAYS_OF_HOURS: u32 = 35;

/// Customer, key, hour or day, model.
pub(crate) type SumKey<'a> = (&'a str, &'a str, u32, &'a str);

/// What a commit adds, by day, and by hour in the days of these hours.
#[derive(Default)]
pub(crate) struct Added<'a> {
    pub(crate) days: BTreeMap<SumKey<'a>, UsageSums>,
    pub(crate) hours: BTreeMap<u32, BTreeMap<SumKey<'a>, UsageSums>>,
}

impl<'a> Added<'a> {
    pub(crate) fn of(group: &'a [RowChange]) -> Self {
        let mut added = Self::default();
        for change in group {
            let (RowKey::Usage(key), (_, Some(sums))) = (&change.key, sides::<UsageSums>(change)) else {
                continue;
            };
            let (customer, name) = (key.customer.0.as_str(), key.key.0.as_str());
            let hours = added.hours.entry(key.day()).or_default();
            for (customer, name) in [(customer, name), (customer, ""), ("", "")] {
                let row = |period| (customer, name, period, key.model.as_str());
                added.days.entry(row(key.day())).or_default().add(sums);
                hours.entry(row(key.hour)).or_default().add(sums);
            }
        }
        added
    }
}

pub(super) fn write(txn: &WriteTransaction, group: &[RowChange]) -> Result<(), StoreError> {
    let Added { days, hours } = Added::of(group);
    add_rows(&mut USAGE_DAYS.open_to_write(txn)?, &days)?;
    for (day, rows) in hours {
        if keeps(txn, day)? {
            add_rows(&mut USAGE_HOURS.of(day).open_to_write(txn)?, &rows)?;
        }
    }
    Ok(())
}

/// Whether hours of that day are kept. A new day ends the oldest one.
fn keeps(txn: &WriteTransaction, day: u32) -> Result<bool, StoreError> {
    let days = USAGE_HOURS.days(txn.list_tables()?);
    if days.contains(&day) {
        return Ok(true);
    }
    let newest = days.last().copied().unwrap_or(day).max(day);
    let oldest = (newest + 1).saturating_sub(KEPT_DAYS_OF_HOURS);
    USAGE_HOURS.drop_before(txn, oldest)?;
    Ok(day >= oldest)
}

fn add_rows(
    table: &mut WriteRows<'_, UsageRowKey, UsageSums>,
    rows: &BTreeMap<SumKey<'_>, UsageSums>,
) -> Result<(), StoreError> {
    for (key, new) in rows {
        let mut sums = table.get(*key)?.unwrap_or_default();
        sums.add(new);
        table.insert(*key, &sums)?;
    }
    Ok(())
}
