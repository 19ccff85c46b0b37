//! What callers may read: tasks, models, results, links, and a family's own view of a task.

mod follow;
mod listing;
mod queries;
mod result;
mod view;

pub use follow::FollowedTask;
