//! What a store of an earlier release lacks and its rows tell: the index of the ledger and the sums of usage.
//!
//! The model of a task is in its record, while history keeps it. Model and tokens of a text request are in the memo of its
//! settlement; what was released has none. What cannot be told counts for the model without a name.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, TaskId, Usage};
use gatehouse_tasks::{BalancesAfter, HoldId, JournalEntry, UsageKey, UsageSums, hour_of};
use redb::{ReadableTable as _, Table, WriteTransaction};
use serde::Deserialize;

use crate::error::StoreError;
use crate::layout::{self, Day, Row};
use crate::row::decode;
use crate::statement::write::NewEntries;
use crate::usage::write::NewUsage;

/// Ledger rows between two writes: bounds the memory this takes.
const PIECE: u64 = 10_000;

#[derive(Deserialize)]
struct ModelOfTask {
    model: String,
}

/// Writes both from the whole ledger; how many rows it has.
pub(crate) fn fill(txn: &WriteTransaction) -> Result<u64, StoreError> {
    txn.delete_table(layout::LEDGER_INDEX)?;
    txn.delete_table(layout::USAGE_DAYS)?;
    let ledger = txn.open_table(layout::LEDGER)?;
    let (mut entries, mut usage) = (NewEntries::default(), NewUsage::default());
    let mut balances: BTreeMap<(bool, String), i64> = BTreeMap::new();
    let (mut models, mut count) = (Models::open(txn)?, 0);
    for row in ledger.iter()? {
        let entry: JournalEntry = decode("ledger", row?.1.value())?;
        let mut add = |is_key, owner: &str, change: Option<Credits>| {
            let balance = balances.entry((is_key, owner.to_owned())).or_default();
            *balance = balance.saturating_add(change.unwrap_or(Credits::ZERO).0);
            Credits(*balance)
        };
        let available = add(false, &entry.customer.0, Some(entry.movement.available));
        let used = entry.key.as_ref().map(|key| add(true, &key.0, entry.movement.used()));
        entries.add(&entry, BalancesAfter { available, used });
        let told = match entry.hold {
            Some(HoldId::Task(id)) => (models.of(id)?, Usage::default()),
            _ => told_by(&entry.memo).unwrap_or_default(),
        };
        if let (Some(key), Some(sums)) = (&entry.key, UsageSums::of(&entry, told.1)) {
            let (customer, key) = (entry.customer.clone(), key.clone());
            usage.add(UsageKey { customer, key, hour: hour_of(entry.at), model: told.0 }, &sums);
        }
        count += 1;
        if count % PIECE == 0 {
            std::mem::take(&mut entries).write(txn)?;
            std::mem::take(&mut usage).write(txn)?;
        }
    }
    entries.write(txn)?;
    usage.write(txn)?;
    Ok(count)
}

/// Models of tasks, from their records.
struct Models<'txn> {
    txn: &'txn WriteTransaction,
    live: Table<'txn, u128, Row>,
    /// Days of history, opened as they are needed. Opening a table to write makes it; a look-up must not.
    days: BTreeMap<u32, Option<Table<'txn, u128, Row>>>,
}

impl<'txn> Models<'txn> {
    fn open(txn: &'txn WriteTransaction) -> Result<Self, StoreError> {
        let days = txn.list_tables()?.filter_map(|table| layout::history_day(&table));
        Ok(Self { txn, live: txn.open_table(layout::LIVE)?, days: days.map(|day| (day, None)).collect() })
    }

    fn of(&mut self, id: TaskId) -> Result<String, StoreError> {
        let model = |row: &[u8]| Ok(decode::<ModelOfTask>("live", row)?.model);
        if let Some(row) = self.live.get(id.bits())? {
            return model(row.value());
        }
        let day = id.timestamp().day();
        let Some(history) = self.days.get_mut(&day) else { return Ok(String::new()) };
        let history = match history {
            Some(open) => open,
            closed => closed.insert(self.txn.open_table(Day::new(day).history())?),
        };
        history.get(id.bits())?.map_or(Ok(String::new()), |row| model(row.value()))
    }
}

/// What a memo may say of its tokens, beside their numbers.
const MARKS: [&str; 2] = [", estimated", ", counted until its client left"];

/// Model and tokens by the memo of a text request: `<model>: 1 in, 2 out, 3 cached, 4 cache written`, and one of [`MARKS`]
/// where the provider did not tell them.
fn told_by(memo: &str) -> Option<(String, Usage)> {
    let (model, counts) = memo.rsplit_once(": ")?;
    let counts = MARKS.iter().find_map(|mark| counts.strip_suffix(mark)).unwrap_or(counts);
    let mut parts = counts.split(", ");
    let mut count = |unit: &str| parts.next()?.strip_suffix(unit)?.strip_suffix(' ')?.parse::<u64>().ok();
    let usage = Usage {
        input: count("in")?,
        output: count("out")?,
        cached: count("cached")?,
        cache_write: count("cache written")?,
        cache_write_hour: 0,
    };
    parts.next().is_none().then(|| (model.to_owned(), usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_tells_model_and_tokens_or_nothing() {
        let usage = Usage { input: 12, output: 3, cached: 4, cache_write: 0, ..Usage::default() };
        let told = Some(("lm:large".to_owned(), usage));
        assert_eq!(told_by("lm:large: 12 in, 3 out, 4 cached, 0 cache written"), told);
        for mark in MARKS {
            assert_eq!(told_by(&format!("lm:large: 12 in, 3 out, 4 cached, 0 cache written{mark}")), told);
        }
        for other in [
            "",
            "by hand",
            "x: 1 in",
            "x: 1 in, 2 out, 3 cached, -4 cache written",
            "x: 1 in, 2 out, 3 cached, 4 cache written, 5",
        ] {
            assert_eq!(told_by(other), None, "{other}");
        }
    }
}
