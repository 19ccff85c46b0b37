//! What callers may read: tasks, money, models, results, links, and a family's own view of a task.

pub(crate) mod files;
pub(crate) mod funds;
pub(crate) mod keys;
mod listing;
pub(crate) mod models;
pub(crate) mod prices;
pub(crate) mod result;
pub(crate) mod tasks;
mod view;

pub use files::Files;
pub use funds::{Balances, Funds, UsageFilter};
pub use keys::Keys;
pub use models::Models;
pub use prices::{ModelPrices, PriceList, VariantPrices};
pub use result::Waiting;
pub use tasks::{FollowedTask, Tasks};
