//! The commands: what they carry, why they can be rejected, and the rules but those of tasks and
//! webhooks.

pub(crate) mod administer;
pub(crate) mod change;
pub(crate) mod command;
pub(crate) mod expired_row;
pub(crate) mod funds;
pub(crate) mod keep_record;
pub(crate) mod keep_response;
pub(crate) mod keep_steps;
pub(crate) mod keys;
pub(crate) mod likely_rows;
pub(crate) mod owner;
pub(crate) mod rejection;
pub(crate) mod request;
pub(crate) mod ruling;
