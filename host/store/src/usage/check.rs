//! Compares the sums of usage with each other, for the doctor: those of customers and of all with those of keys, and
//! hours with days. That the sums of keys by day are those of the ledger is checked in `tasks`.

use std::collections::BTreeMap;

use gatehouse_tasks::{Examination, UsageSums};
use redb::{ReadOnlyTable, ReadTransaction};

use crate::error::StoreError;
use crate::layout::{self, Row, UsageHours, UsageRowKey};
use crate::row::decode;

/// Customer, key, hour or day, model.
type Rows = BTreeMap<(String, String, u32, String), UsageSums>;

/// Feeds the sums of keys by day to the examination, and checks the rest.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let days = keys_of(&txn.open_table(layout::USAGE_DAYS)?, "day", examination)?;
    for ((customer, key, day, _), sums) in &days {
        examination.usage(&customer.as_str().into(), &key.as_str().into(), *day, sums);
    }
    let kept: Vec<u32> = txn.list_tables()?.filter_map(|table| layout::usage_hours_day(&table)).collect();
    for day in kept {
        let hours = keys_of(&txn.open_table(UsageHours::new(day).table())?, "hour", examination)?;
        let mut by_day = Rows::new();
        for ((customer, key, hour, model), sums) in hours {
            by_day.entry((customer, key, hour / 24, model)).or_default().add(&sums);
        }
        let of_day: Rows = days
            .iter()
            .filter(|((_, _, of, _), _)| *of == day)
            .map(|(key, sums)| (key.clone(), *sums))
            .collect();
        if by_day != of_day {
            examination.look_up(format!("usage on day {day}: its hours are not the sums of the day"));
        }
    }
    Ok(())
}

/// The rows of keys. Those of customers and of all must be their sums.
fn keys_of(
    table: &ReadOnlyTable<UsageRowKey, Row>,
    unit: &str,
    examination: &mut Examination,
) -> Result<Rows, StoreError> {
    use redb::ReadableTable as _;
    let (mut keys, mut sums_of_many, mut expected) = (Rows::new(), Rows::new(), Rows::new());
    for row in table.iter()? {
        let (row_key, row) = row?;
        let (customer, key, period, model) = row_key.value();
        let sums: UsageSums = decode("usage", row.value())?;
        let of = |customer: &str, key: &str| (customer.to_owned(), key.to_owned(), period, model.to_owned());
        if key.is_empty() {
            sums_of_many.insert(of(customer, key), sums);
        } else {
            expected.entry(of(customer, "")).or_default().add(&sums);
            expected.entry(of("", "")).or_default().add(&sums);
            keys.insert(of(customer, key), sums);
        }
    }
    if sums_of_many != expected {
        let whose = |(customer, _, period, _): &(String, String, u32, String)| match customer.as_str() {
            "" => format!("usage of all customers in {unit} {period}: it is not the sum of all keys"),
            customer => {
                format!("usage of customer {customer} in {unit} {period}: it is not the sum of its keys")
            }
        };
        let wrong = expected.iter().filter(|(key, sums)| sums_of_many.get(*key) != Some(*sums));
        let unknown = sums_of_many.iter().filter(|(key, _)| !expected.contains_key(*key));
        wrong.chain(unknown).for_each(|(key, _)| examination.look_up(whose(key)));
    }
    Ok(keys)
}
