//! What a commit writes: an array of values a table, all of it sent at once, one answer awaited.
//!
//! ```text
//! begin read write; count the batch, or fail; a statement a table; commit
//! ```
//!
//! Nothing is read: the writer is the only one, so it knows what is there.

mod beside;
pub(super) mod money;

use std::collections::BTreeMap;
use std::mem;

use futures_util::FutureExt as _;
use futures_util::future::{join_all, try_join_all};
use gatehouse_tasks::{RowChange, RowKey};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Transaction};

use super::sql::{Statement, Value, amounts, day, texts, value};
use super::stored::{Stored, cells, key_cells};
use crate::error::StoreError;

/// Lists whose rows are counted as they change.
pub(super) const CUSTOMERS: &str = "customers";
pub(super) const WITHOUT_CREDIT: &str = "customers without credit";
pub(super) const TROUBLED_WEBHOOKS: &str = "webhooks in trouble";
pub(super) const WAITING_DELIVERIES: &str = "deliveries that wait";

const COUNT_BATCH: &str = "select count_batch($1, $2)";
const COUNT: &str = "
    insert into list_length (list, rows)
    select * from unnest($1, $2)
    on conflict (list) do update set rows = list_length.rows + excluded.rows";
const DROP_DAYS: &str = "select drop_days($1)";

/// The changes of a commit, as statements. They can be sent again where it is known that they were not committed.
pub(crate) struct Flush<'a>(Vec<Statement<'a>>);

impl<'a> Flush<'a> {
    /// Of these changes, in the order of their keys; the history of all days before `drop_before` goes.
    ///
    /// # Errors
    /// A row cannot be encoded.
    pub(crate) fn of(changes: &'a [RowChange], drop_before: u32) -> Result<Self, StoreError> {
        let mut writes = Writes::default();
        let same_kind =
            |one: &RowChange, other: &RowChange| mem::discriminant(&one.key) == mem::discriminant(&other.key);
        for group in changes.chunk_by(same_kind) {
            writes.group(group)?;
        }
        writes.count();
        writes.add(usize::from(drop_before > 0), DROP_DAYS, vec![day(drop_before)]);
        Ok(Self(writes.statements))
    }

    /// Commits them, if the epoch and the number of the batch before are the database's.
    ///
    /// # Errors
    /// The first of the server or the connection. After an answer of the server nothing was written; after the loss of a connection
    /// `home` tells.
    pub(crate) async fn send(&self, client: &Client, epoch: i64, batch: i64) -> Result<(), Error> {
        let fence = Statement::new(COUNT_BATCH, vec![value(epoch, Type::INT8), value(batch, Type::INT8)]);
        let mut answers = vec![client.batch_execute("begin read write").boxed()];
        answers
            .extend([&fence].into_iter().chain(&self.0).map(|statement| statement.execute(client).boxed()));
        for answer in &mut answers {
            // The first poll sends. What cannot be sent must not be left out of what is committed.
            if let Some(Err(error)) = answer.now_or_never() {
                client.batch_execute("rollback").await?;
                return Err(error);
            }
        }
        answers.push(client.batch_execute("commit").boxed());
        join_all(answers).await.into_iter().collect()
    }
}

impl Flush<'_> {
    /// Writes them in a transaction that is open, which nobody else has to be kept from.
    pub(super) async fn send_within(&self, txn: &Transaction<'_>) -> Result<(), Error> {
        try_join_all(self.0.iter().map(|statement| statement.execute(txn.client()))).await.map(drop)
    }
}

/// Statements so far.
#[derive(Default)]
struct Writes<'a> {
    statements: Vec<Statement<'a>>,
    /// By how many rows lists become longer.
    longer: BTreeMap<&'static str, i64>,
}

impl<'a> Writes<'a> {
    /// Changes of one kind.
    fn group(&mut self, group: &'a [RowChange]) -> Result<(), StoreError> {
        self.beside(group);
        match &group[0].key {
            RowKey::Entry(_) => money::ledger(self, group),
            RowKey::Usage(_) => {
                money::usage(self, group);
                Ok(())
            }
            key => Stored::of(key).map_or(Ok(()), |table| self.stored(table, group)),
        }
    }

    /// Rows to keep, and those that go. What stands in no table follows from the rows.
    fn stored(&mut self, table: &'static Stored, group: &'a [RowChange]) -> Result<(), StoreError> {
        let kept = group.iter().filter_map(|change| Some(cells(&change.key, change.after.as_ref()?)));
        let kept: Vec<_> = kept.collect();
        self.add(kept.len(), table.put(), table.arrays(&kept)?);
        let gone = group.iter().filter(|change| change.after.is_none());
        let gone: Vec<_> = gone.map(|change| key_cells(&change.key)).collect();
        self.add(gone.len(), table.delete(), table.arrays(&gone)?);
        Ok(())
    }

    /// A statement about so many rows.
    fn add(&mut self, rows: usize, sql: &'static str, values: Vec<Value<'a>>) {
        if rows > 0 {
            self.statements.push(Statement::new(sql, values));
        }
    }

    fn count(&mut self) {
        let mut longer = mem::take(&mut self.longer);
        longer.retain(|_, rows| *rows != 0);
        let (lists, rows) = (texts(longer.keys().copied()), amounts(longer.values().copied()));
        self.add(longer.len(), COUNT, vec![lists, rows]);
    }
}
