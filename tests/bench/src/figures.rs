//! One file for each figure, or for those of one subject.

pub(crate) mod crowd;
pub(crate) mod flood;
pub(crate) mod listing;
pub(crate) mod live;
pub(crate) mod plugin;
pub(crate) mod start;
pub(crate) mod swap;
pub(crate) mod tasks;
pub(crate) mod text;
pub(crate) mod traces;
