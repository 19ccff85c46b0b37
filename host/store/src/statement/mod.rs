//! Statements: the ledger's rows of one customer or one key, with its balance after each.

pub(crate) mod check;
pub(crate) mod read;
pub(crate) mod totals;
