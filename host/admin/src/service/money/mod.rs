//! Money as operators read it: prices, statements of the ledger, usage.

mod price_history;
mod price_versions;
mod prices;
mod statements;
mod usage;

pub use price_history::{PriceCause, PriceHistory};
pub use statements::{StatementRequest, StatementSums};
pub use usage::{UsageGroup, UsageGroups, UsagePiece, UsageReport, UsageRequest, start_of};
