//! Disks that fail, and disks that are full.

mod broken;
mod full;
