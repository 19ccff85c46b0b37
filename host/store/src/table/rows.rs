//! Rows of an open table, in a snapshot or in a commit.

use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use gatehouse_tasks::Row;
use redb::{AccessGuard, ReadOnlyTable, ReadableTable};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Bytes;
use super::key::{TableKey, encoded};
use crate::error::StoreError;
use crate::row::{decode, encode};

/// The rows of one table.
pub(crate) struct Rows<T, K, V> {
    /// Of the table.
    name: &'static str,
    tree: T,
    of: PhantomData<fn() -> (K, V)>,
}

/// Those of a snapshot.
pub(crate) type ReadRows<K, V> = Rows<ReadOnlyTable<Bytes, Bytes>, K, V>;
/// Those of a commit.
pub(crate) type WriteRows<'txn, K, V> = Rows<redb::Table<'txn, Bytes, Bytes>, K, V>;

impl<T: ReadableTable<Bytes, Bytes>, K: TableKey, V> Rows<T, K, V> {
    pub(super) fn new(name: &'static str, tree: T) -> Self {
        Self { name, tree, of: PhantomData }
    }

    pub(crate) fn len(&self) -> Result<u64, StoreError> {
        Ok(self.tree.len()?)
    }

    pub(crate) fn has(&self, key: K::Of<'_>) -> Result<bool, StoreError> {
        Ok(self.tree.get(encoded::<K>(key).as_slice())?.is_some())
    }

    /// Whether there is a row of the same key as that one of another table.
    pub(crate) fn has_key_of<W>(&self, other: &Entry<'_, K, W>) -> Result<bool, StoreError> {
        Ok(self.tree.get(other.key.value())?.is_some())
    }

    pub(crate) fn get(&self, key: K::Of<'_>) -> Result<Option<V>, StoreError>
    where
        V: DeserializeOwned,
    {
        let row = self.tree.get(encoded::<K>(key).as_slice())?;
        row.map(|row| decode(self.name, row.value())).transpose()
    }

    /// Those of the keys in that range, in their order.
    pub(crate) fn range<'k>(
        &self,
        keys: impl RangeBounds<K::Of<'k>>,
    ) -> Result<impl DoubleEndedIterator<Item = Result<Entry<'_, K, V>, StoreError>>, StoreError> {
        let start = keys.start_bound().map(|key| encoded::<K>(*key));
        let end = keys.end_bound().map(|key| encoded::<K>(*key));
        let bytes = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
        let rows = self.tree.range::<&[u8]>(bytes)?;
        Ok(rows.map(|row| {
            let (key, row) = row?;
            Ok(Entry { name: self.name, key, row, of: PhantomData })
        }))
    }

    /// The keys in that range.
    pub(crate) fn keys<'k>(
        &self,
        keys: impl RangeBounds<K::Of<'k>>,
    ) -> Result<impl DoubleEndedIterator<Item = Result<K, StoreError>>, StoreError> {
        Ok(self.range(keys)?.map(|entry| entry?.key()))
    }

    /// The first key.
    pub(crate) fn first(&self) -> Result<Option<K>, StoreError> {
        self.keys(..)?.next().transpose()
    }

    /// The last key.
    pub(crate) fn last(&self) -> Result<Option<K>, StoreError> {
        self.keys(..)?.next_back().transpose()
    }
}

impl<V: DeserializeOwned> ReadRows<u64, V> {
    /// The first of these numbers whose row does not come before what is looked for, as `is_before` tells; by halving.
    pub(crate) fn first_not(
        &self,
        mut numbers: Range<u64>,
        mut is_before: impl FnMut(V) -> bool,
    ) -> Result<u64, StoreError> {
        while !numbers.is_empty() {
            let middle = numbers.start + (numbers.end - numbers.start) / 2;
            if self.get(middle)?.is_some_and(&mut is_before) {
                numbers.start = middle + 1;
            } else {
                numbers.end = middle;
            }
        }
        Ok(numbers.start)
    }
}

impl<K: TableKey, V> WriteRows<'_, K, V> {
    pub(crate) fn insert(&mut self, key: K::Of<'_>, row: &V) -> Result<(), StoreError>
    where
        V: Serialize,
    {
        self.set(&encoded::<K>(key), Some(&encode(self.name, row)?))
    }

    /// Writes a row, or takes it out.
    pub(crate) fn put(&mut self, key: K::Of<'_>, row: Option<&Row>) -> Result<(), StoreError> {
        let row = row.map(|row| encode(self.name, row)).transpose()?;
        self.set(&encoded::<K>(key), row.as_deref())
    }

    /// Whether there was one.
    pub(crate) fn remove(&mut self, key: K::Of<'_>) -> Result<bool, StoreError> {
        Ok(self.tree.remove(encoded::<K>(key).as_slice())?.is_some())
    }

    fn set(&mut self, key: &[u8], row: Option<&[u8]>) -> Result<(), StoreError> {
        match row {
            Some(row) => drop(self.tree.insert(key, row)?),
            None => drop(self.tree.remove(key)?),
        }
        Ok(())
    }
}

impl<K: TableKey> WriteRows<'_, K, ()> {
    /// Lists a row where it now belongs instead of where it did.
    pub(crate) fn list(
        &mut self,
        before: Option<K::Of<'_>>,
        after: Option<K::Of<'_>>,
    ) -> Result<(), StoreError> {
        let (before, after) = (before.map(encoded::<K>), after.map(encoded::<K>));
        if before == after {
            return Ok(());
        }
        before.map_or(Ok(()), |key| self.set(&key, None))?;
        after.map_or(Ok(()), |key| self.set(&key, Some(&[])))
    }
}

/// A row and its key, neither of them read yet.
pub(crate) struct Entry<'t, K, V> {
    name: &'static str,
    key: AccessGuard<'t, Bytes>,
    row: AccessGuard<'t, Bytes>,
    of: PhantomData<fn() -> (K, V)>,
}

impl<K: TableKey, V: DeserializeOwned> Entry<'_, K, V> {
    pub(crate) fn row(&self) -> Result<V, StoreError> {
        decode(self.name, self.row.value())
    }

    pub(crate) fn both(&self) -> Result<(K, V), StoreError> {
        Ok((self.key()?, self.row()?))
    }

    /// Bytes of the row.
    pub(crate) fn row_len(&self) -> usize {
        self.row.value().len()
    }
}

impl<K: TableKey, V> Entry<'_, K, V> {
    pub(crate) fn key(&self) -> Result<K, StoreError> {
        let mut bytes = self.key.value();
        K::read(&mut bytes).filter(|_| bytes.is_empty()).ok_or_else(|| StoreError::Unreadable {
            table: self.name.to_owned(),
            problem: format!(
                "its key {:02x?} is not of the parts that keys of this table have",
                self.key.value()
            ),
        })
    }
}
