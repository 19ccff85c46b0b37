//! What the two text families, `chat` and `messages`, share. A library for plugins, not a plugin.
//!
//! Owns JSON that keeps its bytes, paths and checks of request fields, the rules of a model, token counts of
//! both protocols, provider errors, what thinking looks like, which tool call a piece belongs to, and the order of a
//! stream. Never decides what a family answers: sentences that differ between the two protocols stay in the families.

pub mod broken_json;
pub mod check;
pub mod context_length;
pub mod failures;
pub mod field_names;
pub mod files;
pub mod halves;
pub mod incoming;
pub mod json;
pub mod limits;
pub mod names;
pub mod path;
pub mod prefill;
pub mod provider_error;
pub mod provider_words;
pub mod relay;
pub mod responses;
pub mod rules;
pub mod standard;
pub mod tool_ids;
pub mod tool_names;
pub mod tools;
pub mod usage;
