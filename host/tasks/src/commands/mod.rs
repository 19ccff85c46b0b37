//! The commands: what they carry, why they can be rejected, and the rules about customers, keys and request holds.

pub(crate) mod change;
pub(crate) mod command;
pub(crate) mod expired_row;
pub(crate) mod funds;
pub(crate) mod keys;
pub(crate) mod owner;
pub(crate) mod rejection;
pub(crate) mod request;
pub(crate) mod ruling;
