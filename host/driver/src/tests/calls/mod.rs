//! Calls of providers: which account they go through, the first one of a task, those of several tasks in one,
//! and the steps that a version on trial does not take.

mod accounts;
mod bulk_calls;
mod first_step;
mod trials;
