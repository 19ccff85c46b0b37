//! The oracle: the checks of the invariants against what was promised and seen, the store's reads and the provider's
//! record, after every commit.

pub(crate) mod ends;
pub(crate) mod joins;
mod names;
pub(crate) mod tasks;
pub(crate) mod texts;
