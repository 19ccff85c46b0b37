//! Rows that a batch changes again and again: customers, keys and the holds of requests. A batch keeps them as they are
//! and writes each once, when it closes. A hold made and settled in one batch is never written. Everything else goes to
//! its table at once.

use std::collections::BTreeMap;

use gatehouse_model::{Customer, CustomerId, Key, KeyId, UnixMs};
use gatehouse_tasks::{Hold, HoldId};
use redb::{ReadableTable, Table, WriteTransaction};

use crate::administration::without_credit;
use crate::error::StoreError;
use crate::layout::{self, HoldKey, Row};
use crate::row::encode;
use crate::tables::find;

/// What became of a request's hold.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most holds of a batch are made in it; a box would be an allocation for each"
)]
enum HoldChange {
    /// Made in this batch: its tables do not know it.
    Made(Hold),
    /// One of an earlier batch, forgotten. Holds never change between the two.
    Forgotten,
}

/// The rows of one batch that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct WriteBack {
    customers: BTreeMap<CustomerId, Customer>,
    keys: BTreeMap<KeyId, Key>,
    holds: BTreeMap<HoldKey, (UnixMs, HoldChange)>,
}

/// The tables of holds.
pub(crate) struct HoldTables<'txn> {
    pub(crate) rows: Table<'txn, HoldKey, Row>,
    /// Of requests only.
    pub(crate) expiry: Table<'txn, (u64, HoldKey), ()>,
}

impl WriteBack {
    /// The customer, if this batch has changed it.
    pub(crate) fn customer(&self, id: &CustomerId) -> Option<Customer> {
        self.customers.get(id).cloned()
    }

    pub(crate) fn put_customer(&mut self, customer: &Customer) {
        self.customers.insert(customer.id.clone(), customer.clone());
    }

    /// The key, if this batch has changed it.
    pub(crate) fn key(&self, id: &KeyId) -> Option<Key> {
        self.keys.get(id).cloned()
    }

    /// Whether this is the first change of the key in this batch.
    pub(crate) fn put_key(&mut self, key: &Key) -> bool {
        self.keys.insert(key.id.clone(), key.clone()).is_none()
    }

    pub(crate) fn hold(&self, id: HoldId, tables: &HoldTables<'_>) -> Result<Option<Hold>, StoreError> {
        let key = layout::hold_key(id);
        match self.holds.get(&key) {
            Some((_, HoldChange::Made(hold))) => Ok(Some(hold.clone())),
            Some((_, HoldChange::Forgotten)) => Ok(None),
            None => find("holds", &tables.rows, key),
        }
    }

    pub(crate) fn put_hold(&mut self, hold: &Hold, tables: &mut HoldTables<'_>) -> Result<(), StoreError> {
        let key = layout::hold_key(hold.id);
        let is_new = matches!(hold.id, HoldId::Request(_))
            && !self.holds.contains_key(&key)
            && tables.rows.get(key)?.is_none();
        if is_new || matches!(self.holds.get(&key), Some((_, HoldChange::Made(_)))) {
            self.holds.insert(key, (hold.expires, HoldChange::Made(hold.clone())));
            return Ok(());
        }
        if let Some((expires, _)) = self.holds.remove(&key) {
            tables.remove(key, Some(expires))?;
        }
        tables.put(key, hold)
    }

    pub(crate) fn remove_hold(&mut self, hold: &Hold, tables: &mut HoldTables<'_>) -> Result<(), StoreError> {
        let key = layout::hold_key(hold.id);
        if matches!(hold.id, HoldId::Task(_)) {
            return tables.remove(key, None);
        }
        match self.holds.remove(&key) {
            Some((_, HoldChange::Made(_))) => {}
            Some((_, HoldChange::Forgotten)) | None => {
                self.holds.insert(key, (hold.expires, HoldChange::Forgotten));
            }
        }
        Ok(())
    }

    /// Writes them all.
    pub(crate) fn write(
        self,
        txn: &WriteTransaction,
        customers: &mut Table<'_, &'static str, Row>,
        keys: &mut Table<'_, &'static str, Row>,
        holds: &mut HoldTables<'_>,
    ) -> Result<(), StoreError> {
        without_credit::write(txn, customers, self.customers.values())?;
        for (id, key) in &self.keys {
            keys.insert(id.0.as_str(), encode("keys", key)?.as_slice())?;
        }
        for (key, (expires, change)) in &self.holds {
            match change {
                HoldChange::Made(hold) => holds.put(*key, hold)?,
                HoldChange::Forgotten => holds.remove(*key, Some(*expires))?,
            }
        }
        Ok(())
    }
}

impl HoldTables<'_> {
    fn put(&mut self, key: HoldKey, hold: &Hold) -> Result<(), StoreError> {
        if matches!(hold.id, HoldId::Request(_)) {
            self.expiry.insert((hold.expires.0, key), ())?;
        }
        self.rows.insert(key, encode("holds", hold)?.as_slice())?;
        Ok(())
    }

    /// Forgets a hold; that of a request with its expiry.
    fn remove(&mut self, key: HoldKey, expires: Option<UnixMs>) -> Result<(), StoreError> {
        if let Some(expires) = expires {
            self.expiry.remove((expires.0, key))?;
        }
        self.rows.remove(key)?;
        Ok(())
    }
}
