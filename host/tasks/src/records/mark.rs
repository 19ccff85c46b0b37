//! One digest of the heads of all chains. It goes into the audit record from time to time, so that an older end of a chain,
//! put back with its balances, does not pass for the present one.

use std::fmt;

use gatehouse_model::{CustomerId, Digest, LedgerHead};
use serde::{Deserialize, Serialize};

/// The ledger at a moment: how long it was, and where each chain ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerMark {
    /// Entries of all customers.
    pub entries: u64,
    /// Customers that had any.
    pub customers: u64,
    /// Over the id and the head of each of them.
    pub digest: Digest,
}

impl LedgerMark {
    /// With the next customer, by id. One without entries counts for nothing.
    #[must_use]
    pub fn with(self, customer: &CustomerId, head: LedgerHead) -> Self {
        if head.next == 0 {
            return self;
        }
        let fields: [&[u8]; 4] =
            [&self.digest.0, customer.0.as_bytes(), &head.next.to_be_bytes(), &head.chain.0];
        Self {
            entries: self.entries.saturating_add(head.next),
            customers: self.customers.saturating_add(1),
            digest: Digest::of_fields(&fields),
        }
    }
}

impl fmt::Display for LedgerMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, customers, digest } = self;
        write!(f, "the ledger has {entries} entries of {customers} customers; digest of all heads: {digest}")
    }
}
