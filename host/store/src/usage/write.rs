//! Writes the sums of usage, once for each commit: what many commands of a commit add to is read and written once.
//!
//! Every ended request is counted in six rows: of its key, its customer and all customers, by hour and by day. Hours are in
//! one table a day, so that forgetting them is dropping a table.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_tasks::{UsageKey, UsageSums};
use redb::{ReadableTable as _, Table, TableHandle as _, WriteTransaction};

use crate::error::StoreError;
use crate::layout::{self, Row, UsageHours, UsageRowKey};
use crate::row::{decode, encode};

/// Days whose sums by hour are kept; those by day are kept for ever.
pub const KEPT_DAYS_OF_HOURS: u32 = 35;

/// What the commands of a transaction add.
#[derive(Default)]
pub(crate) struct NewUsage(BTreeMap<UsageKey, UsageSums>);

/// Customer, key, hour or day, model.
type OwnedKey = (String, String, u32, String);

impl NewUsage {
    pub(crate) fn add(&mut self, key: UsageKey, sums: &UsageSums) {
        self.0.entry(key).or_default().add(sums);
    }

    /// Adds it to the tables.
    pub(crate) fn write(self, txn: &WriteTransaction) -> Result<(), StoreError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut days: BTreeMap<OwnedKey, UsageSums> = BTreeMap::new();
        let mut hours: BTreeMap<u32, BTreeMap<OwnedKey, UsageSums>> = BTreeMap::new();
        for (key, sums) in &self.0 {
            let (customer, name) = (key.customer.0.as_str(), key.key.0.as_str());
            for (customer, name) in [(customer, name), (customer, ""), ("", "")] {
                let row = |period| (customer.to_owned(), name.to_owned(), period, key.model.clone());
                days.entry(row(key.day())).or_default().add(sums);
                hours.entry(key.day()).or_default().entry(row(key.hour)).or_default().add(sums);
            }
        }
        add_rows(&mut txn.open_table(layout::USAGE_DAYS)?, &days)?;
        for (day, rows) in hours {
            let hours = UsageHours::new(day);
            if keeps(txn, day)? {
                add_rows(&mut txn.open_table(hours.table())?, &rows)?;
            }
        }
        Ok(())
    }
}

/// Whether hours of that day are kept. A new day ends the oldest one.
fn keeps(txn: &WriteTransaction, day: u32) -> Result<bool, StoreError> {
    let days: BTreeSet<u32> =
        txn.list_tables()?.filter_map(|table| layout::usage_hours_day(&table)).collect();
    if days.contains(&day) {
        return Ok(true);
    }
    let newest = days.last().copied().unwrap_or(day).max(day);
    let oldest = (newest + 1).saturating_sub(KEPT_DAYS_OF_HOURS);
    for old in days.range(..oldest) {
        txn.delete_table(UsageHours::new(*old).table())?;
    }
    Ok(day >= oldest)
}

fn add_rows(
    table: &mut Table<'_, UsageRowKey, Row>,
    rows: &BTreeMap<OwnedKey, UsageSums>,
) -> Result<(), StoreError> {
    let name = table.name().to_owned();
    for ((customer, key, period, model), new) in rows {
        let key = (customer.as_str(), key.as_str(), *period, model.as_str());
        let before: Option<UsageSums> = table.get(key)?.map(|row| decode(&name, row.value())).transpose()?;
        let mut sums = before.unwrap_or_default();
        sums.add(new);
        table.insert(key, encode(&name, &sums)?.as_slice())?;
    }
    Ok(())
}
