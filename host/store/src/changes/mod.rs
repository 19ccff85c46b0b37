//! Who learns that a row of a task, or of a webhook, has changed.

mod task_changes;
mod webhook_changes;

pub(crate) use task_changes::TaskChanges;
pub use task_changes::TaskListener;
