//! The calls of the plugin service, through the queue of the plugin threads.

pub(crate) mod dialect;
pub(crate) mod direct;
pub(crate) mod tasks;
pub(crate) mod text;
