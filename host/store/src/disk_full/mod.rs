//! The file whose changes wait for room on its disk.

mod backend;
mod unsynced;

pub(crate) use backend::{WaitingBackend, locks_of};
