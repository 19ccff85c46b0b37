//! The log of a task's steps: what a row holds, and the rule of keeping it.

pub(crate) mod record;
pub(crate) mod rules;
