//! The steps of a task: [`advance`] leads and submits, [`poll`] waits for the operation, [`fetch`] gets the videos that the provider
//! keeps, [`finish`] ends the task.

pub(crate) mod advance;
mod fetch;
mod finish;
mod poll;
