//! Rows that may be forgotten once their time is over, by name. Housekeeping reads which they are, and has them forgotten
//! customer by customer.

use std::collections::BTreeMap;

use gatehouse_model::{CustomerId, DeliveryId, Digest, KeyId, RequestId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::commands::command::Command;

/// The name of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExpiredRow {
    /// What is remembered of an operator's request, by its token. Such a row is no customer's.
    AdminIdempotency(Digest),
    /// A delivery of a webhook.
    Delivery(DeliveryId),
    /// The hold of a request, which is released.
    Hold(RequestId),
    /// What is remembered of a client's request.
    Idempotency {
        /// The key it came through.
        key: KeyId,
        /// Its token.
        token: Digest,
    },
    /// A kept response.
    Response(String),
}

/// Rows with the customers that they belong to, oldest first.
pub type ExpiredRows = Vec<(Option<CustomerId>, ExpiredRow)>;

impl Command {
    /// Commands that forget rows, one for each customer.
    pub fn forget_each(rows: ExpiredRows, at: UnixMs) -> impl Iterator<Item = Self> {
        let mut of_customers: BTreeMap<Option<CustomerId>, Vec<ExpiredRow>> = BTreeMap::new();
        for (customer, row) in rows {
            of_customers.entry(customer).or_default().push(row);
        }
        of_customers.into_iter().map(move |(customer, rows)| Self::Forget { customer, rows, at })
    }
}
