//! The durable store: batches of commands, one writer, redb or PostgreSQL.
//!
//! Owns the file: its tables and their encoding, the one thread that begins and commits transactions, and the reads. The rules of what a
//! command does live in `tasks`; this crate is the engine below their rows ([`gatehouse_tasks::Backend`]) and makes what they changed
//! durable. Never decides about tasks or money, never reads a clock.
//! The only crate that knows redb. Called by `driver`, and by the operator's commands through it.

mod administration;
mod below;
mod changes;
mod config;
mod copy;
mod disk_full;
mod engine;
mod error;
mod examine;
mod expired;
mod file;
mod gauges;
mod home;
mod layout;
mod lease;
mod listing;
mod open;
mod posted;
mod postgres;
mod read;
mod reads;
mod records;
mod row;
mod statement;
mod store;
mod table;
mod transaction;
mod usage;
mod wait;
mod webhooks;
mod whole;
mod writer;

pub use administration::{AuditQuery, KeyQuery, KeyState, RowPage};
pub use changes::TaskListener;
pub use config::Config;
pub use copy::{CopyError, StoreCopy};
pub use engine::usage::KEPT_DAYS_OF_HOURS;
pub use error::{OpenError, StoreError};
pub use examine::{Progress, examine_file};
pub use file::pages::{check_pages, check_pages_after_crash};
pub use file::pepper::PepperFit;
pub use gauges::StoreGauges;
pub use listing::all_tasks::{AllTasksPage, AllTasksQuery};
pub use listing::page::{TaskPage, TaskQuery};
pub use postgres::{
    Fleet, KnownNode, Node, PlantedFault, Position, Server, SimulatedServer, Standby, Trip, TripEnd,
    copy_to_database, copy_to_file,
};
pub use reads::{LongRead, ShortRead};
pub use records::PriceVersionSummary;
pub use statement::read::{StatementOf, StatementPage, StatementQuery, StatementRow};
pub use statement::totals::StatementTotals;
pub use store::Store;
pub use usage::read::{UsagePeriod, UsagePosition, UsageQuery, UsageRow, UsageRows, UsageScope};
pub use wait::Access;
pub use webhooks::DeliveryQuery;
pub use writer::{Durability, Writer};

#[cfg(test)]
mod tests;
