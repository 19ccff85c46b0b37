//! What callers may read: tasks, models, results, links, and a family's own view of a task.

mod queries;
mod result;
mod view;
