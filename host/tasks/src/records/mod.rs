//! What operators changed, kept for them to look up: versions of the price book, and reports of deployments.

pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod record;
