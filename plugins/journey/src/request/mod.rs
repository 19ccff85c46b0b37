//! Requests: from a body to a `Job`, or a refusal that names the field. Nothing here knows the provider's wire.

pub(crate) mod engine;
mod engine_params;
mod fields;
mod flags;
pub(crate) mod follow_up;
pub(crate) mod modal;
pub(crate) mod parent;
pub(crate) mod pictures;
mod rules;
pub(crate) mod source;
pub(crate) mod submit;
pub(crate) mod video;
