//! One HTTP request: what its head may say, whose it is, whom it came through, its body, and the record of it. Never knows an
//! endpoint. Calls `limits`, `routing` and `documentation`, whose last texts the context of all requests keeps.

pub(crate) mod access_log;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod context;
pub(crate) mod forwarded;
pub(crate) mod head;
pub(crate) mod query;
