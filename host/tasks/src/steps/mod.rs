//! The log of a task's steps: what a row holds.

pub(crate) mod record;
