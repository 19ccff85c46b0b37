//! PostgreSQL under the store: the other engine.
//!
//! `connect` reaches a server, `tls` encrypts, `failure` says what an error means for whoever waits, `pool` lends connections to
//! readers. One connection writes. The only folder that knows `tokio-postgres`.

mod connect;
mod failure;
mod pool;
mod tls;

pub use connect::Server;

#[cfg(test)]
mod tests;
