//! What rows hold: records of each subject, and how two of them compare. Below every rule; imports nothing of this crate but itself.

pub(crate) mod administration;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod hold;
pub(crate) mod journal_entry;
pub(crate) mod mark;
pub(crate) mod operator;
pub(crate) mod quota;
pub(crate) mod response;
pub(crate) mod step;
pub(crate) mod usage;
pub(crate) mod webhook;
