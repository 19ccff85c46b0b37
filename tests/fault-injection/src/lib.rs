//! A disk in memory that remembers what was written to it, and what a power cut may leave of that. For tests of the store and
//! of what stands on it.

mod disk;
mod image;

pub use disk::{Access, Disk, DiskFault, Op};
pub use image::{Cut, each_cut};
