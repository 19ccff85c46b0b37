//! Sends the deliveries that the ends of tasks have left: signed, one at a time for each webhook, until the receiver took
//! them or their attempts are over.
//!
//! What is sent, when it is sent again and when a webhook is disabled are rules of `tasks`. Here in the driver and not in a
//! crate of its own, because it joins store and upstream and stops with the scheduler.

mod attempt;
pub(crate) mod queue;
pub(crate) mod worker;
