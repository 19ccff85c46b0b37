//! The task machine: a task is submitted, advanced, ended, and forgotten by the sweep.

pub(crate) mod advance;
pub(crate) mod decide;
pub(crate) mod submit;
pub(crate) mod sweep;
