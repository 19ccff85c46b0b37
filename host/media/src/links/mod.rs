//! Signed links and byte ranges.

pub(crate) mod link;
pub(crate) mod range;
