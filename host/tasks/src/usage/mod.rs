//! Usage: sums of ended requests by hour, customer, key and model, and their comparison with the ledger.

pub(crate) mod check;
pub(crate) mod sums;
