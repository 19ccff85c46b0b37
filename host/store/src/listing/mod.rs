//! A customer's tasks by status and model: the index, and the pages read from it.

pub(crate) mod all_tasks;
pub(crate) mod kept_responses;
pub(crate) mod page;
pub(crate) mod task_index;
