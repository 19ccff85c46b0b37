//! Where it is kept: batches of commands, one writer, redb.
//!
//! Owns the file: its tables and their encoding, the one thread that writes, and the reads. The rules of what a
//! command does live in `tasks`; this room only gives them rows ([`gatehouse_tasks::LedgerStorage`] over a redb
//! transaction) and makes what they wrote durable. Never decides about tasks or money, never reads a clock.
//! The only room that knows redb. Called by `driver`, and by the operator's commands through it.

mod batch;
mod birth;
mod config;
mod error;
mod layout;
#[cfg(any(test, feature = "power"))]
pub mod power;
mod read;
mod row;
mod store;
mod writer;

pub use config::Config;
pub use error::{OpenError, StoreError};
pub use read::{LiveTasks, TaskQuery};
pub use store::{Durability, Store};
pub use writer::Writer;

#[cfg(test)]
mod tests;
