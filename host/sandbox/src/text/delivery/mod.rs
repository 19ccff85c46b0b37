//! Sends replies: the plan, the steps of the body with its faults, and the split into writes.

mod body;
pub(crate) mod reply;
pub(crate) mod send;
mod split;
mod steps;
