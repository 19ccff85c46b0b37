//! Tests of the pipeline: authentication, the access log, the error table.

pub(super) mod access_log;
mod auth;
pub(super) mod errors;
mod local;
mod pipeline;
