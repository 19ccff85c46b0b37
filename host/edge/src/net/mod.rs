//! Sockets: listeners, TLS, concurrency limits. Connections themselves are `gatehouse-net`'s. Never reads what a
//! request wants.

pub(crate) mod concurrency_limit;
pub(crate) mod listen;
pub(crate) mod open_connections;
