//! Sources of plugins: built into the binary, copied into the watched folder, signed by an author.

pub(crate) mod built_in;
pub(crate) mod compiler;
pub(crate) mod folder_watcher;
pub(crate) mod parallel;
pub(crate) mod signing;
