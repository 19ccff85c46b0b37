//! Who learns that a task's row has changed.

mod task_changes;

pub(crate) use task_changes::TaskChanges;
pub use task_changes::TaskListener;
