//! A disk in memory that remembers what was written to it, what a power cut may leave of that, and numbers to
//! choose by. For tests, of this room and of whatever stands on a store; never part of a gateway.

mod disk;
mod image;
mod words;

pub use disk::{Access, Disk, Fault, Op};
pub use image::{Cut, each_cut};
pub use words::Words;
