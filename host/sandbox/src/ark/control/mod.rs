//! The control plane: groups and assets, through signed requests.

pub(crate) mod actions;
pub(crate) mod endpoint;
pub(crate) mod errors;
pub(crate) mod signature;
