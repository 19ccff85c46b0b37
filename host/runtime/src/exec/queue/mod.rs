//! Calls that wait for a plugin thread: shared by family, customer and key.

pub(crate) mod fair_queue;
pub(crate) mod family_queue;
