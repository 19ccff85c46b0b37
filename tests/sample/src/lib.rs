//! Made-up rows and command sequences, for tests only.

mod expired;
mod rows;
mod templates;

pub use expired::expired;
pub use rows::{
    START, STEP, change, claim, completed, customer_id, delivery, digest, failed, join_request, key, key_id,
    name, quota_period, request_id, result, ruled, sent_call, task, task_id,
};
pub use templates::{ANY_LIVE, CommandTemplate, beginning, command_sequences};
