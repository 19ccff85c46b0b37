//! Provider accounts: permits, who waits for them, circuit breaker, rate; and what operators see of them.

pub(crate) mod abandoned;
pub(crate) mod account;
pub(crate) mod account_permit;
pub(crate) mod accounts;
pub(crate) mod breaker;
pub(crate) mod call_permit;
pub(crate) mod customer_queue;
pub(crate) mod operator;
pub(crate) mod pace;
pub(crate) mod rules;
pub(crate) mod token_bucket;
pub(crate) mod waiting;
