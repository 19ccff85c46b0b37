//! What the store does on a full disk: it waits for room, and tells those who ask.

mod backend;
mod unsynced;
mod wait;

pub(crate) use backend::WaitingBackend;
pub(crate) use wait::DiskWait;
