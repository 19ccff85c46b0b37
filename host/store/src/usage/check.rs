//! Compares the sums of usage with each other, for the doctor: those of customers and of all with those of keys, and
//! hours with days. That the sums of keys by day are those of the ledger is checked in `tasks`.

use std::collections::BTreeMap;

use gatehouse_model::{CustomerId, KeyId};
use gatehouse_tasks::{Examination, UsageSums};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{USAGE_DAYS, USAGE_HOURS, UsageRowKey};
use crate::table::ReadRows;
use crate::usage::read::UsageRow;

/// Feeds the sums of keys by day to the examination, and checks the rest.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let days = sums_of(&USAGE_DAYS.open(txn)?)?.of_days(examination);
    for day in USAGE_HOURS.days(txn.list_tables()?) {
        let hours = sums_of(&USAGE_HOURS.of(day).open(txn)?)?;
        hours.of_hours(day, &days, examination);
    }
    Ok(())
}

fn sums_of(table: &ReadRows<UsageRowKey, UsageSums>) -> Result<Sums, StoreError> {
    let mut found = Sums::default();
    for row in table.range(..)? {
        found.add(UsageRow::read(&row?)?);
    }
    Ok(found)
}

/// Sums by hour or by day.
#[derive(Default)]
pub(crate) struct Sums {
    keys: BTreeMap<UsageRowKey, UsageSums>,
    /// Of customers, and of all.
    of_many: BTreeMap<UsageRowKey, UsageSums>,
    /// What these must be.
    expected: BTreeMap<UsageRowKey, UsageSums>,
}

/// The sums of keys by day.
pub(crate) struct KeyDays(BTreeMap<UsageRowKey, UsageSums>);

impl Sums {
    /// The next row.
    pub(crate) fn add(&mut self, row: UsageRow) {
        let UsageRow { customer: CustomerId(customer), key: KeyId(key), period, model, sums } = row;
        if key.is_empty() {
            self.of_many.insert((customer, key, period, model), sums);
        } else {
            for whose in [customer.as_str(), ""] {
                let of = (whose.to_owned(), String::new(), period, model.clone());
                self.expected.entry(of).or_default().add(&sums);
            }
            self.keys.insert((customer, key, period, model), sums);
        }
    }

    /// Once every day was seen.
    pub(crate) fn of_days(self, examination: &mut Examination) -> KeyDays {
        self.compare("day", examination);
        for ((customer, key, day, _), sums) in &self.keys {
            examination.usage(&customer.as_str().into(), &key.as_str().into(), *day, sums);
        }
        KeyDays(self.keys)
    }

    /// Once every hour of a day was seen.
    pub(crate) fn of_hours(self, day: u32, days: &KeyDays, examination: &mut Examination) {
        self.compare("hour", examination);
        let mut by_day = BTreeMap::<UsageRowKey, UsageSums>::new();
        for ((customer, key, hour, model), sums) in self.keys {
            by_day.entry((customer, key, hour / 24, model)).or_default().add(&sums);
        }
        let of_day = days.0.iter().filter(|((_, _, of, _), _)| *of == day);
        if by_day != of_day.map(|(key, sums)| (key.clone(), *sums)).collect() {
            examination.look_up(format!("usage on day {day}: its hours are not the sums of the day"));
        }
    }

    /// The rows of customers and of all must be the sums of those of keys.
    fn compare(&self, unit: &str, examination: &mut Examination) {
        if self.of_many == self.expected {
            return;
        }
        let whose = |(customer, _, period, _): &UsageRowKey| match customer.as_str() {
            "" => format!("usage of all customers in {unit} {period}: it is not the sum of all keys"),
            customer => {
                format!("usage of customer {customer} in {unit} {period}: it is not the sum of its keys")
            }
        };
        let wrong = self.expected.iter().filter(|(key, sums)| self.of_many.get(*key) != Some(*sums));
        let unknown = self.of_many.iter().filter(|(key, _)| !self.expected.contains_key(*key));
        wrong.chain(unknown).for_each(|(key, _)| examination.look_up(whose(key)));
    }
}
