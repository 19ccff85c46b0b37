//! Rows that commands work on: what they are, how a command reads and changes them, and the engine below.

pub(crate) mod ledger_storage;
pub(crate) mod row;
pub(crate) mod rows;
