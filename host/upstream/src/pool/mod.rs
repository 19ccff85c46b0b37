//! Provider accounts: permits, circuit breaker, rate.

pub(crate) mod account;
pub(crate) mod account_permit;
pub(crate) mod accounts;
pub(crate) mod breaker;
pub(crate) mod token_bucket;
