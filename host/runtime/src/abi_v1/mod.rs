//! Version 1 of the plugin contract: bindings, exports, and the conversion of its types to and from the model's.
//!
//! No generated type leaves this folder. Another major version of the contract gets a folder of its own. Knows `fault`, and
//! no other part of this crate.

pub(crate) mod answers;
mod direct;
pub(crate) mod exports;
mod jobs;
mod lower;
mod text;
mod types;
