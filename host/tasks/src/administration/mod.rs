//! Requests of operators: the line each leaves in the audit record, and how a repeated one is recognised.

pub(crate) mod record;
