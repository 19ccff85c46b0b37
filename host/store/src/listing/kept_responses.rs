//! Reads of kept responses, for their owner alone. Rows and look-up tables are written in `responses`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use gatehouse_model::{CustomerId, UnixMs};
use gatehouse_tasks::ResponseRecord;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout;

/// The customer's kept response in whose output each of the items is. It is read once, however many of its items are asked for.
pub(crate) fn responses_with_items(
    txn: &ReadTransaction,
    customer: &CustomerId,
    items: &[String],
    now: UnixMs,
) -> Result<Vec<Option<Arc<ResponseRecord>>>, StoreError> {
    let table = layout::RESPONSE_ITEMS.open(txn)?;
    let mut responses: HashMap<String, Option<Arc<ResponseRecord>>> = HashMap::new();
    let mut found = Vec::with_capacity(items.len());
    for item in items {
        let Some(id) = table.get((&customer.0, item))? else {
            found.push(None);
            continue;
        };
        found.push(match responses.entry(id) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let record = response(txn, customer, new.key(), now)?;
                new.insert(record.map(|record| Arc::new(of_items(record)))).clone()
            }
        });
    }
    Ok(found)
}

/// What there is of a response for its items: its request may be much larger, and goes nowhere with them.
pub(crate) fn of_items(record: ResponseRecord) -> ResponseRecord {
    ResponseRecord { input: Vec::new(), outline: Vec::new(), ..record }
}

/// A customer's kept response.
pub(crate) fn response(
    txn: &ReadTransaction,
    customer: &CustomerId,
    id: &str,
    now: UnixMs,
) -> Result<Option<ResponseRecord>, StoreError> {
    let record = layout::RESPONSES.find(txn, (&customer.0, id))?;
    Ok(record.filter(|record| record.expires > now))
}

/// A customer's kept response and all that it goes on from.
pub(crate) fn conversation(
    txn: &ReadTransaction,
    customer: &CustomerId,
    id: &str,
    now: UnixMs,
    limit: usize,
) -> Result<Option<Vec<ResponseRecord>>, StoreError> {
    let (mut chain, mut next) = (Vec::new(), Some(id.to_owned()));
    while let Some(id) = next {
        if chain.len() == limit {
            return Ok(None);
        }
        let Some(record) = response(txn, customer, &id, now)? else { return Ok(None) };
        next = record.previous.clone();
        chain.push(record);
    }
    chain.reverse();
    Ok(Some(chain))
}
