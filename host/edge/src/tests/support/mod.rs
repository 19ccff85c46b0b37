//! The double of the driver for tests of the edge.

pub(crate) mod backend;
pub(crate) mod samples;
mod webhooks;
