//! A PostgreSQL server of tests, which can be stopped as by a power cut, and a relay before it that cuts connections.

mod relay;
mod server;

pub use relay::{ConnectionCut, Relay};
pub use server::{Authority, PostgresServer};
