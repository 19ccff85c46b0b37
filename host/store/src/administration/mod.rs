//! Operators' requests: the memory of their idempotency keys, and the pages that operators read.

pub(crate) mod idempotency;
pub(crate) mod pages;
