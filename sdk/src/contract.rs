//! The types of the contract: the generated ones with builders, and the SDK's own ones (parsed JSON, typed
//! state) with their conversion. Converts, and decides nothing.

pub(crate) mod accepted;
pub(crate) mod call;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod direct;
pub(crate) mod failure;
pub(crate) mod json;
pub(crate) mod manifest;
pub(crate) mod media;
pub(crate) mod parent;
pub(crate) mod reply;
pub(crate) mod step;
pub(crate) mod submission;
pub(crate) mod translation;
