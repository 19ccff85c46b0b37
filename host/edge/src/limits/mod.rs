//! What a client may hold at once: connections, requests, answers that it does not take. Never reads what a request wants, and
//! calls no other folder.

pub(crate) mod concurrency_limit;
pub(crate) mod open_connections;
pub(crate) mod unread;
