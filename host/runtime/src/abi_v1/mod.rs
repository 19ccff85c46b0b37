//! Version 1 of the plugin contract: bindings, exports, and the conversion of its types to and from the model's.
//!
//! No generated type leaves this folder. Another major version of the contract gets a folder of its own.

pub(crate) mod answers;
pub(crate) mod bulk;
pub(crate) mod contract;
mod convert;
pub(crate) mod dialect;
pub(crate) mod direct;
pub(crate) mod exports;
pub(crate) mod jobs;
mod log;
mod lower;
pub(crate) mod text;
mod types;
pub(crate) mod views;
