//! The configuration as it is written, and made usable: every value checked, every secret resolved. Calls `auth`, and of
//! `client` the forms of origins and proxies.

pub(crate) mod check;
pub(crate) mod credential;
mod extra;
pub(crate) mod settings;
