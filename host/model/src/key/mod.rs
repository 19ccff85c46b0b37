//! API keys: their records, and the rates that a record limits.

mod gcra;
mod record;

pub use gcra::{Gcra, RateVerdict};
pub use record::{ChatFormat, Key, KeyPolicy, Limits};
