//! Operators' requests: the memory of their idempotency keys, the pages that operators read, and the list of customers
//! without credit.

pub(crate) mod pages;
pub(crate) mod without_credit;
