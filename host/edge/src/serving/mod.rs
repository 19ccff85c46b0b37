//! The order of all steps of a request, wherever it comes from: a connection, or this process itself. Calls `endpoints` and everything below
//! them; the listeners call it.

pub(crate) mod listeners;
pub(crate) mod local;
pub(crate) mod pipeline;
