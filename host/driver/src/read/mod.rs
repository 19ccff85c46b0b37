//! What callers may read: tasks, money, models, results, links, and a family's own view of a task.

pub(crate) mod funds;
pub(crate) mod prices;
mod queries;
mod result;
mod view;
