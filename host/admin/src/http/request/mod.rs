//! Reading a request: its path and parameters, its body, and the headers that guard a change.

pub(crate) mod body;
pub(crate) mod precondition;
pub(crate) mod query;
