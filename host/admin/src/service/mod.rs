//! The services behind the admin API: each performs the operations of one subject on an open store, for a command that opened the
//! store itself and for the admin listener of a running gateway. `admin_service` joins them.
//!
//! Owns the checks of an operator's input and the words of a refusal. The rules of money and keys stay in `tasks`;
//! these send their commands to the store.

mod admin_service;
mod attention;
mod commands;
mod configuration;
mod fleet;
mod gateway;
mod job;
mod keys;
mod logs;
mod money;
mod paging;
mod playground;
mod plugins;
mod price_history;
mod price_rows;
mod providers;
mod reloads;
mod tasks;
mod webhooks;

pub use admin_service::{AdminParts, AdminService};
pub use configuration::{Configuration, Deployed, ForgottenDefaults, StagedDefaults};
pub use gateway::{Backend, Logs, Pending, PublicApi, PublicEndpoint, PublicRefusal};
pub use job::{BackupProgress, Backups};
pub(crate) use keys::NewKey;
pub use keys::nearest;
pub(crate) use logs::{LOG_LEVELS, LogFilter, LogLine, least_cost, status_range, tag_of};
#[cfg(test)]
pub(crate) use money::StatementSums;
pub(crate) use money::{StatementRequest, start_of};
pub use money::{UsageGroup, UsageGroups, UsageReport, UsageRequest};
pub(crate) use paging::{before_prefix, of_prefix};
pub use playground::ResultInput;
pub use plugins::StoredStates;
pub(crate) use price_history::during;
pub use price_history::{PriceCause, PriceHistory};
pub(crate) use providers::account_changes;
pub use tasks::TaskDetails;
pub(crate) use tasks::ruling_changes;
