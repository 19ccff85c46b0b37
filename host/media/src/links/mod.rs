//! Signed links and byte ranges.

pub(crate) mod range;
pub(crate) mod signed_link;
