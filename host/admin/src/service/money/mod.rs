//! Money as operators read it: prices, statements of the ledger, usage.

mod prices;
mod statements;
mod usage;

pub use statements::StatementRequest;
pub use usage::{UsageGroup, UsageGroups, UsagePiece, UsageReport, UsageRequest, start_of};
