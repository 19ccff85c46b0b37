//! Row access for the rules, and the implementation in memory.

pub(crate) mod ledger_storage;
pub(crate) mod memory;
mod memory_records;
mod memory_webhooks;
