//! The log of a task's steps: what a run notes, how an exchange is told, and the excerpts of bodies.

mod excerpt;
pub(in crate::step) mod exchange;
pub(crate) mod step_log;
