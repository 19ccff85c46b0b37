//! A PostgreSQL server of tests, which can be stopped as by a power cut, and a relay before it that cuts connections and holds bytes
//! back.

mod relay;
mod server;

pub use relay::{ConnectionCut, HeldBack, Relay};
pub use server::{Authority, PostgresServer};
