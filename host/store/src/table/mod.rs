//! Tables of the file, with keys and rows of our types above the one pair of types that redb has: bytes and bytes. redb compiles its
//! trees once for each pair, and they are large.

mod key;
mod rows;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::marker::PhantomData;

use redb::{ReadTransaction, TableDefinition, TableError, TableHandle, UntypedTableHandle, WriteTransaction};
use serde::de::DeserializeOwned;

pub(crate) use self::key::TableKey;
pub(crate) use self::rows::{Entry, ReadRows, Rows, WriteRows};
use crate::error::StoreError;

/// Keys and rows, as redb knows them.
pub(crate) type Bytes = &'static [u8];

/// A table: its name, and of what its keys and rows are made. Rows of `()` say all by their keys.
pub(crate) struct Table<K, V> {
    name: &'static str,
    /// One of [`DayTables`].
    day: Option<u32>,
    of: PhantomData<fn() -> (K, V)>,
}

impl<K: TableKey, V> Table<K, V> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, day: None, of: PhantomData }
    }

    pub(crate) fn name(&self) -> Cow<'static, str> {
        match self.day {
            None => self.name.into(),
            Some(day) => format!("{}-{day}", self.name).into(),
        }
    }

    /// Its rows in a snapshot.
    pub(crate) fn open(&self, txn: &ReadTransaction) -> Result<ReadRows<K, V>, TableError> {
        Ok(Rows::new(self.name, txn.open_table(definition(&self.name()))?))
    }

    /// The same of a day that may have had no rows.
    pub(crate) fn open_if_any(&self, txn: &ReadTransaction) -> Result<Option<ReadRows<K, V>>, TableError> {
        match self.open(txn) {
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Its rows in a commit; makes a table that is not there.
    pub(crate) fn open_to_write<'txn>(
        &self,
        txn: &'txn WriteTransaction,
    ) -> Result<WriteRows<'txn, K, V>, TableError> {
        Ok(Rows::new(self.name, txn.open_table(definition(&self.name()))?))
    }

    /// How many rows it has.
    pub(crate) fn len(&self, txn: &ReadTransaction) -> Result<u64, StoreError> {
        self.open(txn)?.len()
    }

    /// The row of that key.
    pub(crate) fn find(&self, txn: &ReadTransaction, key: K::Of<'_>) -> Result<Option<V>, StoreError>
    where
        V: DeserializeOwned,
    {
        self.open_if_any(txn)?.map_or(Ok(None), |rows| rows.get(key))
    }

    /// Visits all rows.
    pub(crate) fn each(
        &self,
        txn: &ReadTransaction,
        mut visit: impl FnMut(V) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>
    where
        V: DeserializeOwned,
    {
        self.open(txn)?.range(..)?.try_for_each(|entry| visit(entry?.row()?))
    }
}

/// The definition of the table of that name, whatever it holds.
pub(crate) fn definition(name: &str) -> TableDefinition<'_, Bytes, Bytes> {
    TableDefinition::new(name)
}

/// Tables of one kind, one a day: to forget a day is to drop a table.
pub(crate) struct DayTables<K, V> {
    name: &'static str,
    of: PhantomData<fn() -> (K, V)>,
}

impl<K: TableKey, V> DayTables<K, V> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, of: PhantomData }
    }

    /// That of a day.
    pub(crate) fn of(&self, day: u32) -> Table<K, V> {
        Table { name: self.name, day: Some(day), of: PhantomData }
    }

    /// The days that have one, of all `tables` of a file.
    pub(crate) fn days(&self, tables: impl Iterator<Item = UntypedTableHandle>) -> BTreeSet<u32> {
        let day =
            |table: UntypedTableHandle| table.name().strip_prefix(self.name)?.strip_prefix('-')?.parse().ok();
        tables.filter_map(day).collect()
    }

    /// Drops those of all days before `day`.
    pub(crate) fn drop_before(&self, txn: &WriteTransaction, day: u32) -> Result<(), StoreError> {
        for old in self.days(txn.list_tables()?).range(..day) {
            txn.delete_table(definition(&self.of(*old).name()))?;
        }
        Ok(())
    }
}
