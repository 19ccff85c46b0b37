//! The delivery origin: result files behind signed links.

pub(crate) mod endpoint;
pub(crate) mod signature;
