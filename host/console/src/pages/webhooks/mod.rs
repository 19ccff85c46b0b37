//! Webhooks: who is told of the ends of a customer's tasks, what was sent, and what became of it.

pub(crate) mod actions;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod one;
