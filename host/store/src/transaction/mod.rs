//! One batch from its begin to its commit, and who may apply a command to it.

pub(crate) mod open;
pub(crate) mod shared;
