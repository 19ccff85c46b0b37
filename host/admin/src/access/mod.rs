//! Who sends a request, and what they may do.

pub(crate) mod attempts;
pub(crate) mod caller;
