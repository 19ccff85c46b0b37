//! Webhooks and their deliveries: the rows, their look-up tables, and what the sender and operators read.

pub(crate) mod check;
pub(crate) mod read;
