//! The commands: what they carry, why they can be rejected, and what a rule returns.

pub(crate) mod change;
pub(crate) mod command;
pub(crate) mod expired_row;
pub(crate) mod owner;
pub(crate) mod rejection;
pub(crate) mod request;
pub(crate) mod webhook_change;
