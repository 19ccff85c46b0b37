//! Made-up rows and command sequences, for tests only.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

mod expired;
mod rows;
mod templates;

pub use expired::expired;
pub use rows::{
    START, STEP, audit, change, claim, completed, customer_id, delivery, digest, failed, hold, join_request,
    key, key_id, name, quota_period, request_id, result, ruled, sent_call, settle, task, task_id, webhook,
    webhook_change,
};
pub use templates::{ANY_LIVE, CommandTemplate, beginning, command_sequences};

/// The answer of a read of the store in a place that cannot wait: redb's are there at the first poll.
///
/// # Panics
/// It is not.
pub fn at_once<T>(read: impl Future<Output = T>) -> T {
    match pin!(read).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a read of the store waits"),
    }
}
