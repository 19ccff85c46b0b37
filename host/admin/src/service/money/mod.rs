//! Money as operators read it: prices, statements of the ledger, usage.

mod prices;
mod statements;
mod usage;

pub(super) use prices::Prices;
pub(crate) use statements::StatementRequest;
#[cfg(test)]
pub(crate) use statements::StatementSums;
pub(super) use statements::Statements;
pub(super) use usage::Usage;
pub(crate) use usage::start_of;
pub use usage::{UsageGroup, UsageGroups, UsageReport, UsageRequest};
