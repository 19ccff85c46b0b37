//! A customer's tasks by status and model: the index, and the pages read from it.

pub(crate) mod all_tasks;
mod kept_responses;
pub(crate) mod page;
mod steps;
pub(crate) mod task_index;
