//! The tables of kept responses: rows, the order of their ages, their expiry, the items of their outputs, and what each
//! customer keeps. The writer opens them only for commands about responses, so that no other commit pays for them.

use gatehouse_model::CustomerId;
use gatehouse_tasks::{ResponseRecord, ResponseTotals};
use redb::{ReadableTable as _, WriteTransaction};

use crate::error::StoreError;
use crate::layout;
use crate::row::encode;
use crate::tables::find;

const ROWS: &str = "responses";

/// The tables in one write transaction.
pub(crate) struct ResponseTables<'txn>(&'txn WriteTransaction);

impl<'txn> ResponseTables<'txn> {
    pub(crate) fn new(txn: &'txn WriteTransaction) -> Self {
        Self(txn)
    }

    /// Makes those that are missing.
    pub(crate) fn make(txn: &WriteTransaction) -> Result<(), StoreError> {
        txn.open_table(layout::RESPONSES)?;
        txn.open_table(layout::RESPONSE_ITEMS)?;
        txn.open_table(layout::RESPONSE_AGES)?;
        txn.open_table(layout::RESPONSE_EXPIRY)?;
        txn.open_table(layout::RESPONSE_TOTALS)?;
        Ok(())
    }

    pub(crate) fn find(&self, customer: &CustomerId, id: &str) -> Result<Option<ResponseRecord>, StoreError> {
        find(ROWS, &self.0.open_table(layout::RESPONSES)?, (customer.0.as_str(), id))
    }

    pub(crate) fn oldest(&self, customer: &CustomerId) -> Result<Option<ResponseRecord>, StoreError> {
        let ages = self.0.open_table(layout::RESPONSE_AGES)?;
        let name = customer.0.as_str();
        let Some(first) = ages.range((name, 0, "")..)?.next().transpose()? else { return Ok(None) };
        let (owner, _, id) = first.0.value();
        if owner == name { self.find(customer, id) } else { Ok(None) }
    }

    pub(crate) fn totals(&self, customer: &CustomerId) -> Result<ResponseTotals, StoreError> {
        let totals = self.0.open_table(layout::RESPONSE_TOTALS)?;
        let found = totals.get(customer.0.as_str())?.map(|row| row.value());
        Ok(found.map_or_else(ResponseTotals::default, |(count, bytes)| ResponseTotals { count, bytes }))
    }

    pub(crate) fn put(&mut self, record: &ResponseRecord) -> Result<(), StoreError> {
        let (customer, id) = (record.customer.0.as_str(), record.id.as_str());
        let row = encode(ROWS, record)?;
        self.0.open_table(layout::RESPONSES)?.insert((customer, id), row.as_slice())?;
        self.0.open_table(layout::RESPONSE_AGES)?.insert((customer, record.kept.0, id), ())?;
        self.0.open_table(layout::RESPONSE_EXPIRY)?.insert((record.expires.0, customer, id), ())?;
        let mut items = self.0.open_table(layout::RESPONSE_ITEMS)?;
        for item in &record.items {
            items.insert((customer, item.as_str()), id)?;
        }
        self.set(&record.customer, self.totals(&record.customer)?.with(record))
    }

    pub(crate) fn remove(&mut self, record: &ResponseRecord) -> Result<(), StoreError> {
        let (customer, id) = (record.customer.0.as_str(), record.id.as_str());
        if self.0.open_table(layout::RESPONSES)?.remove((customer, id))?.is_none() {
            return Ok(());
        }
        self.0.open_table(layout::RESPONSE_AGES)?.remove((customer, record.kept.0, id))?;
        self.0.open_table(layout::RESPONSE_EXPIRY)?.remove((record.expires.0, customer, id))?;
        let mut items = self.0.open_table(layout::RESPONSE_ITEMS)?;
        for item in &record.items {
            items.remove((customer, item.as_str()))?;
        }
        self.set(&record.customer, self.totals(&record.customer)?.without(record))
    }

    fn set(&self, customer: &CustomerId, totals: ResponseTotals) -> Result<(), StoreError> {
        let mut table = self.0.open_table(layout::RESPONSE_TOTALS)?;
        if totals.count == 0 {
            table.remove(customer.0.as_str())?;
        } else {
            table.insert(customer.0.as_str(), (totals.count, totals.bytes))?;
        }
        Ok(())
    }
}
