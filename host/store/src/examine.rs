//! The examination of the whole file, behind `gatehouse doctor`.
//!
//! Feeds every row of one snapshot to the rules of `tasks`, and compares the look-up tables with the rows: the index
//! of tasks with the tasks, the owners of names with the names, the index of the ledger, deposits by day and the sums of
//! usage with the ledger, the lists of webhooks in trouble and of customers without credit with their rows. Never
//! repairs.

use gatehouse_model::{Customer, CustomerId, Key, Task};
use gatehouse_tasks::{Examination, Hold, JournalEntry, NameRecord, Report};
use redb::{ReadTransaction, ReadableTableMetadata};

use crate::administration::without_credit;
use crate::error::StoreError;
use crate::layout::{self, Day};
use crate::listing::task_index::IndexCheck;
use crate::statement::check::StatementCheck;
use crate::statement::deposits::{self, Deposits};
use crate::store::Store;
use crate::tables::each;
use crate::{records, usage, webhooks};

impl Store {
    /// Re-sums the whole ledger, checks every hold against its task, the index against all tasks, and the owners of
    /// names against the names, in one snapshot.
    ///
    /// # Errors
    /// [`StoreError`]; what merely contradicts itself is in the report.
    pub fn examine(&self) -> Result<Report, StoreError> {
        self.read(examine)
    }
}

fn examine(txn: &ReadTransaction) -> Result<Report, StoreError> {
    let mut examination = Examination::default();
    let (mut statements, mut paid) = (StatementCheck::default(), Deposits::default());
    each(txn, layout::LEDGER, |entry: JournalEntry| {
        examination.entry(&entry);
        statements.entry(&entry);
        paid.add(&entry);
        Ok(())
    })?;
    statements.rest(txn, &mut examination)?;
    deposits::check(paid, txn, &mut examination)?;
    usage::check::check(txn, &mut examination)?;
    each(txn, layout::CUSTOMERS, |customer: Customer| {
        examination.customer(&customer);
        Ok(())
    })?;
    each(txn, layout::KEYS, |key: Key| {
        examination.key(&key);
        Ok(())
    })?;
    each(txn, layout::HOLDS, |hold: Hold| {
        examination.hold(&hold);
        Ok(())
    })?;
    let mut index = IndexCheck::new(txn)?;
    each(txn, layout::LIVE, |task: Task| {
        examination.live(&task);
        index.task(&task, &mut examination)
    })?;
    let days: Vec<u32> = txn.list_tables()?.filter_map(|table| layout::history_day(&table)).collect();
    for day in days {
        each(txn, Day::new(day).history(), |task: Task| {
            examination.finished(&task);
            index.task(&task, &mut examination)
        })?;
    }
    index.rest(&mut examination)?;
    let owners = txn.open_table(layout::NAME_OWNERS)?;
    each(txn, layout::NAMES, |record: NameRecord| {
        let owner = owners.get(record.claim.name.as_str())?;
        examination.name(&record, owner.map(|customer| CustomerId::from(customer.value())).as_ref());
        Ok(())
    })?;
    examination.name_owners(owners.len()?);
    records::read::check(txn, &mut examination)?;
    webhooks::check::check(txn, &mut examination)?;
    without_credit::check(txn, &mut examination)?;
    Ok(examination.report())
}
