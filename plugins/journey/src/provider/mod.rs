//! The midjourney proxy's protocol: the calls, and the meaning of its answers. Messages for clients never name the
//! operator's account or the provider's servers; those go to the operator's log.

pub(crate) mod bulk;
pub(crate) mod calls;
pub(crate) mod failure;
pub(crate) mod polled;
pub(crate) mod result;
pub(crate) mod submitted;
mod task;
