//! From a request to a durable task, or to a request that joins one.

pub(crate) mod dry_run;
pub(crate) mod join;
pub(crate) mod judge;
pub(crate) mod references;
pub(crate) mod refusal;
pub(crate) mod submission;
