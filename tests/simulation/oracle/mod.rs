//! The oracle: what was promised and seen (memory), and the checks of the invariants against the store's reads and
//! the provider's record, after every commit.

pub(crate) mod audit;
pub(crate) mod ends;
pub(crate) mod joins;
pub(crate) mod memory;
mod names;
pub(crate) mod tasks;
pub(crate) mod texts;
