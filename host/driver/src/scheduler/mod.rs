//! The loops that run by themselves.
//!
//! `run_loop` starts due steps, `recovery` fills the schedule at a start, `housekeeping` deletes what has expired. What a step
//! does is decided in `step`.

pub(crate) mod housekeeping;
mod recovery;
pub(crate) mod run_loop;
