//! The loops that run by themselves.
//!
//! `run_loop` starts due steps, `recovery` fills the schedule at a start, `housekeeping` deletes what has expired,
//! `account_outages` looks at the accounts of providers. What a step does is decided in `step`.

pub(crate) mod account_outages;
pub(crate) mod housekeeping;
mod recovery;
pub(crate) mod run_loop;
