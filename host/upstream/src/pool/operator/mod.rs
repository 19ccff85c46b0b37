//! Accounts as operators see them: what is known of each, its last errors, and the switch that keeps new work away.

pub(crate) mod drain;
pub(crate) mod last_errors;
pub(crate) mod overview;
