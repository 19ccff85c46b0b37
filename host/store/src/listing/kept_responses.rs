//! Reads of kept responses, for their owner alone. Rows and look-up tables are written in `responses`.

use gatehouse_model::{CustomerId, UnixMs};
use gatehouse_tasks::ResponseRecord;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout;
use crate::read::LongRead;
use crate::store::Store;
use crate::tables::find;

const ROWS: &str = "responses";

impl Store {
    /// A customer's kept response and all that it goes on from, the oldest first; `None` when one of them is gone or has
    /// expired at `now`, or when there are more than `limit`: a conversation is never continued from a part of it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn conversation(
        &self,
        customer: &CustomerId,
        id: &str,
        now: UnixMs,
        limit: usize,
    ) -> LongRead<'_, Option<Vec<ResponseRecord>>> {
        let (customer, id) = (customer.clone(), id.to_owned());
        self.long_read(move |txn| conversation_in(txn, &customer, id, now, limit))
    }

    /// A customer's kept response; `None` once it has expired at `now`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn response(
        &self,
        customer: &CustomerId,
        id: &str,
        now: UnixMs,
    ) -> LongRead<'_, Option<ResponseRecord>> {
        let (customer, id) = (customer.clone(), id.to_owned());
        self.long_read(move |txn| live(txn, &customer, &id, now))
    }

    /// The customer's kept response in whose output each of the items is, in the order asked; `None` for an item of none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn responses_with_items(
        &self,
        customer: &CustomerId,
        items: Vec<String>,
        now: UnixMs,
    ) -> LongRead<'_, Vec<Option<ResponseRecord>>> {
        let customer = customer.clone();
        let read = move |txn: &ReadTransaction| {
            let table = txn.open_table(layout::RESPONSE_ITEMS)?;
            let mut found = Vec::with_capacity(items.len());
            for item in &items {
                let id = table.get((customer.0.as_str(), item.as_str()))?;
                found.push(match id {
                    Some(id) => live(txn, &customer, id.value(), now)?,
                    None => None,
                });
            }
            Ok(found)
        };
        self.long_read(read)
    }
}

fn live(
    txn: &ReadTransaction,
    customer: &CustomerId,
    id: &str,
    now: UnixMs,
) -> Result<Option<ResponseRecord>, StoreError> {
    let record: Option<ResponseRecord> =
        find(ROWS, &txn.open_table(layout::RESPONSES)?, (customer.0.as_str(), id))?;
    Ok(record.filter(|record| record.expires > now))
}

fn conversation_in(
    txn: &ReadTransaction,
    customer: &CustomerId,
    id: String,
    now: UnixMs,
    limit: usize,
) -> Result<Option<Vec<ResponseRecord>>, StoreError> {
    let (mut chain, mut next) = (Vec::new(), Some(id));
    while let Some(id) = next {
        if chain.len() == limit {
            return Ok(None);
        }
        let Some(record) = live(txn, customer, &id, now)? else { return Ok(None) };
        next = record.previous.clone();
        chain.push(record);
    }
    chain.reverse();
    Ok(Some(chain))
}
