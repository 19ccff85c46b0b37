//! Version 1 of the plugin contract: bindings, exports, and the conversion of its types to and from the model's.
//!
//! No generated type leaves this folder. Another major version of the contract gets a folder of its own. Knows `fault`, and
//! no other part of this crate.

pub(crate) mod answers;
pub(crate) mod direct;
pub(crate) mod exports;
pub(crate) mod jobs;
mod lower;
pub(crate) mod text;
mod types;
