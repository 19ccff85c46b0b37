//! One write transaction: the rows that the rules of `tasks` read and write, and those that are written once at its end.

pub(crate) mod batch;
mod write_back;
