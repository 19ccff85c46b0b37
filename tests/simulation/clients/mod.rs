//! Clients and operators: what they do, and what they may expect of each answer.

pub(crate) mod actions;
pub(crate) mod joins;
mod references;
pub(crate) mod rulings;
pub(crate) mod tasks;
pub(crate) mod texts;
pub(crate) mod webhooks;
