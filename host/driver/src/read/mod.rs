//! What callers may read: tasks, money, models, results, links, and a family's own view of a task.

mod follow;
pub(crate) mod funds;
mod inputs;
mod listing;
pub(crate) mod prices;
mod queries;
pub(crate) mod result;
mod view;

pub use follow::FollowedTask;
