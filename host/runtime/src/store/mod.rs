//! The folder of components, compiled code and lists. Knows no other part of this crate, and decides nothing.

pub(crate) mod manifest_index;
pub(crate) mod packaged;
pub(crate) mod plugin_store;
