//! What is kept beside the ledger: its index by customer and key, and the sums of usage.

mod chains;
mod statements;
mod usage;
