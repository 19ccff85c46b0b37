//! When each live task takes its next step, and the loops that run by themselves.
//!
//! `due_heap` is the pure order of due times, `live_tasks` the soft state of every live task around it, `run_loop`
//! starts due steps, `recovery` fills the schedule at a start, `housekeeping` deletes what has expired,
//! `disk_check` looks at the disks, `account_outages` at the accounts of providers, `store_pause` is how long work rests that the store could not do. What a step does is decided in `step`.

pub(crate) mod account_outages;
mod disk_check;
pub(crate) mod due_heap;
mod housekeeping;
pub(crate) mod live_tasks;
mod recovery;
mod run_loop;
pub(crate) mod step_guard;
pub(crate) mod store_pause;
