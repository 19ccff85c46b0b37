//! The simulated provider: how it answers (outcomes), what it remembers (record), and its servers over pipes. The
//! system under test never sees its record.

pub(crate) mod connection;
pub(crate) mod endpoints;
pub(crate) mod hook_record;
pub(crate) mod hooks;
pub(crate) mod outcomes;
mod pages;
pub(crate) mod quilts;
pub(crate) mod record;
pub(crate) mod tasks;
pub(crate) mod text_outcomes;
pub(crate) mod texts;
pub(crate) mod transcripts;
