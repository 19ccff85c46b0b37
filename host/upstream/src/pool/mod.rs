//! Provider accounts: permits, who waits for them, health and rate; and what operators see of them. Owns what is known of each
//! account, which outlives a configuration. Calls `provider`, `auth`, `config` for its accounts, and the breaker; makes no call.

pub(crate) mod abandoned;
pub(crate) mod account;
pub(crate) mod accounts;
pub(crate) mod customer_queue;
pub(crate) mod operator;
pub(crate) mod permits;
pub(crate) mod token_bucket;
pub(crate) mod waiting;
