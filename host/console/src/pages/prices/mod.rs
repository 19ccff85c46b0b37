//! Prices: the book in effect, what a request would cost, and the versions that came before.

pub(crate) mod active;
pub(crate) mod versions;
