//! The task machine: a task is submitted, joined, advanced, ended, and forgotten by the sweep.

pub(crate) mod advance;
pub(crate) mod claims;
pub(crate) mod decide;
pub(crate) mod finish;
pub(crate) mod forget;
pub(crate) mod idempotency;
pub(crate) mod join;
pub(crate) mod reconcile;
pub(crate) mod submit;
