//! The configuration and its checked form.

pub(crate) mod check;
pub(crate) mod credential;
pub(crate) mod error;
pub(crate) mod origin;
pub(crate) mod settings;
