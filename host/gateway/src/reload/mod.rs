//! The configuration of a running gateway, read again: all of it is checked, then it is switched to in one place.
//!
//! Owns the order (load, check, prepare every service's part, switch), the answer to the operator, and the defaults that
//! come with a family. Never decides what a value means: the services do, and prepare their part without a change.

mod offline;
mod running;
mod staged;

pub(crate) use offline::OfflineConfiguration;
pub(crate) use running::RunningConfiguration;
