//! The store of finished videos, behind signed links.

pub(super) mod endpoint;
pub(super) mod signature;
