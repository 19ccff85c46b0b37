//! What happens in a simulation: actions of clients and operators with their times, outcomes at the provider, outages.

pub(crate) mod actions;
pub(crate) mod generate;
pub(crate) mod quilts;
pub(crate) mod requests;
