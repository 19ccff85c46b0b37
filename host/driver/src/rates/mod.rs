//! Requests and tokens a minute, of a key and of a key's single models.
//!
//! Decided after a request is known to be valid and before money is held: all of its limits together, so that one that
//! refuses leaves the others as they were. What was taken is in memory only: after a start each key has its limits whole
//! once. How much a key may have open at a time is no rate; the store decides it with the hold.

mod limiter;
mod rate_use;
mod status;

pub(crate) use limiter::{RateId, RateLimiter};
pub(crate) use rate_use::RateUse;
pub use status::{LimitKind, LimitStatus, RateLimited, RateStatus};
