//! Plugins: families with their versions, and what may be done to a version.

pub(crate) mod list;
pub(crate) mod upload;
