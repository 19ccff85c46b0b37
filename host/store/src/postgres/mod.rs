//! PostgreSQL under the store: the other engine.
//!
//! `connect` reaches a server, `tls` encrypts, `failure` says what an error means for those that wait. One session writes: `home` has it,
//! `engine` says what it is to fetch for a command, `fetch` and `write` are its statements, most of them over the tables of `stored`;
//! `session` is what it asks of a server, which in a simulation is `simulated`. `pool` lends connections to readers, for
//! `reads` and `examine`. The only folder that knows `tokio-postgres`.

pub(crate) mod connect;
pub(crate) mod copy;
pub(crate) mod engine;
pub(crate) mod examine;
mod failure;
pub(crate) mod fetch;
mod fleet;
pub(crate) mod home;
mod keeper;
pub(crate) mod migrate;
mod pool;
pub(crate) mod reading;
pub(crate) mod reads;
pub(crate) mod session;
pub(crate) mod simulated;
mod sql;
mod standby;
mod stored;
mod tls;
pub(crate) mod write;

pub use connect::Server;
pub use copy::{copy_to_database, copy_to_file};
pub use fleet::{Fleet, KnownNode, Node};
pub use simulated::{PlantedFault, SimulatedServer, Trip, TripEnd};
pub use standby::{Position, Standby};

#[cfg(test)]
mod tests;
