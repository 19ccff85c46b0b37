//! What the two text families, `chat` and `messages`, share. A library for plugins, not a plugin.
//!
//! Owns JSON that keeps its bytes, paths and checks of request fields, the rules of a model, token counts of
//! both protocols and the reading of provider errors. Never decides what a family answers: sentences that
//! differ between the two protocols stay in the families.

pub mod check;
pub mod json;
pub mod limits;
pub mod path;
pub mod provider_error;
pub mod rules;
pub mod usage;
