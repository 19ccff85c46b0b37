//! A disk in memory that remembers what was written to it, and what a power cut may leave of that. For tests of this crate and of the crates above it; never part of a gateway.

mod disk;
mod image;

pub use disk::{Access, Disk, DiskFault, Op};
pub use image::{Cut, each_cut};
