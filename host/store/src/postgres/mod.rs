//! PostgreSQL under the store: the other engine.
//!
//! `connect` reaches a server, `tls` encrypts, `failure` says what an error means for whoever waits, `pool` lends connections to
//! readers. One connection writes. The only folder that knows `tokio-postgres`.

pub(crate) mod connect;
pub(crate) mod examine;
mod failure;
pub(crate) mod fetch;
pub(crate) mod migrate;
mod pool;
pub(crate) mod reads;
mod sql;
mod tls;
pub(crate) mod write;

pub use connect::Server;

#[cfg(test)]
mod tests;
