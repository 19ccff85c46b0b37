//! What tests break on purpose: a disk in memory that remembers what was written to it, with what a power cut may leave of that, and a
//! PostgreSQL server that is stopped or cut off. For tests of the store and of what stands on it.

mod disk;
mod image;
mod packages;
mod postgres;

pub use disk::{Access, Disk, DiskFault, Op};
pub use image::{Cut, each_cut};
pub use packages::{in_path, install_unless};
pub use postgres::{Authority, ConnectionCut, HeldBack, PostgresServer, Relay};
