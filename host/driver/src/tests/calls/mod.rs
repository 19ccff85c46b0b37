//! Calls of providers: which account they go through, the first one of a task, and those of several tasks in one.

mod accounts;
mod bulk_calls;
mod first_step;
