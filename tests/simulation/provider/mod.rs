//! The simulated provider's servers over pipes. How they answer and what they remember is in `record`.

pub(crate) mod connection;
pub(crate) mod hooks;
mod pages;
pub(crate) mod quilts;
pub(crate) mod tasks;
pub(crate) mod texts;
pub(crate) mod transcripts;
