//! The step protocol: what a due task does until it has to wait or has ended.
//!
//! ```text
//! submission -> Run(start); its first call may be durable with the task (first)
//! load -> [ overdue? doomed? -> finish ]
//!      -> Run(event)  plugin decides: call | probe | wait | done | fail
//!      -> Call        shared? with others, if they come in time (bulk); else
//!                     permit, commit Sent (unless safe), bytes leave, commit the reply (unless safe)
//!      -> Sent        after a crash: sent again, given up, or Ambiguous
//!      -> Ambiguous   waits for an operator's ruling, until the deadline
//!      -> Probe       facts for the plugin
//!      -> Publish     copies, then the view is shown and the step goes on
//!      -> Save        copies, then finish; SaveFailed likewise
//! A request that joined the task is delivered while the task waits, or before it completes.
//! ```
//! What a crash may not lose is committed before the next thing happens; what can be derived again (a
//! safe call, a probe, a wait) is not. Every commit names the revision it is based on, so a run that lost a race
//! (a cancel, a deadline) changes nothing and starts over.

pub(crate) mod bulk;
pub(crate) mod call;
pub(crate) mod cancel;
pub(crate) mod commit;
pub(crate) mod first;
pub(crate) mod log;
pub(crate) mod media;
pub(crate) mod plugin;
pub(crate) mod reconcile;
pub(crate) mod run;
mod run_context;
pub(crate) mod time_out;
mod version;
