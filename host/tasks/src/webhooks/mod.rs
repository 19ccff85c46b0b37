//! Webhooks: who learns that a task ended or that money runs out, what is sent, when it is sent again, and when that stops.
//!
//! Standard Webhooks 1.0.0. The row of a delivery is written by the rule that ends its task, so it is durable with the
//! end. Never sends and never signs: the driver does, and reports each attempt as a command.

pub(crate) mod alerts;
pub(crate) mod deliveries;
pub(crate) mod endpoints;
pub(crate) mod operators;
pub(crate) mod payload;
pub(crate) mod schedule;
