//! How a reply leaves: its plan, the steps of its body with the faults in it, and the writes those are split into.

mod body;
pub(crate) mod reply;
pub(crate) mod send;
mod split;
mod steps;
