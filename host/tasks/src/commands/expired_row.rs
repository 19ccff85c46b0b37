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

/// The most rows of one command: the writer applies each whole, and others wait meanwhile.
const MOST_ROWS: usize = 250;

impl Command {
    /// Commands that forget rows, each those of one customer, and few enough that others do not wait for long.
    pub fn forget_each(rows: ExpiredRows, at: UnixMs) -> impl Iterator<Item = Self> {
        let mut of_customers: BTreeMap<Option<CustomerId>, Vec<ExpiredRow>> = BTreeMap::new();
        for (customer, row) in rows {
            of_customers.entry(customer).or_default().push(row);
        }
        of_customers.into_iter().flat_map(move |(customer, rows)| {
            let pieces: Vec<_> = rows.chunks(MOST_ROWS).map(<[_]>::to_vec).collect();
            pieces.into_iter().map(move |rows| Self::Forget { customer: customer.clone(), rows, at })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A customer with many rows would hold up everybody's commands by one of its own.
    #[test]
    fn a_command_has_rows_of_one_customer_and_not_too_many() {
        let row = |number: u64| ExpiredRow::Response(number.to_string());
        let of =
            |name: &str, count| (0..count).map(|number| (Some(name.into()), row(number))).collect::<Vec<_>>();
        let rows = [of("a", 501), of("b", 1)].concat();
        let mut told = Vec::new();
        for command in Command::forget_each(rows, UnixMs(1)) {
            let Command::Forget { customer, rows, .. } = command else { panic!("{command:?}") };
            told.push((customer.unwrap().0, rows.len(), rows[0].clone()));
        }
        let expected = [("a", 250, 0), ("a", 250, 250), ("a", 1, 500), ("b", 1, 0)];
        assert_eq!(told, expected.map(|(name, count, first)| (name.to_owned(), count, row(first))));
    }
}
