//! The rules but those of tasks and webhooks: money and keys of customers, and what is kept beside them.

pub(crate) mod administer;
pub(crate) mod funds;
pub(crate) mod keep_record;
pub(crate) mod keep_response;
pub(crate) mod keys;
mod likely_rows;
