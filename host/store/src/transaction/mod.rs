//! One write transaction: the rows that the rules of `tasks` read and write, those that are written once at its end, and who
//! may apply a command to it.

pub(crate) mod batch;
pub(crate) mod open;
pub(crate) mod shared;
mod write_back;
