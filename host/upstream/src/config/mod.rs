//! The configuration and its checked form.

pub(crate) mod check;
pub(crate) mod credential;
pub(crate) mod error;
mod extra;
pub(crate) mod origin;
pub(crate) mod proxy;
pub(crate) mod settings;
