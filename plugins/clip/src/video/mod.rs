//! Videos: `clip-2.0`, `clip-2.0-fast` and `clip-2.0-mini` on the provider's data plane.

pub(crate) mod advance;
mod media;
pub(crate) mod params;
mod poll;
pub(crate) mod provider;
mod request;
mod source;
pub(crate) mod state;
pub(crate) mod submit;
