//! One file for each figure.

pub(crate) mod crowd;
pub(crate) mod flood;
pub(crate) mod image;
pub(crate) mod life;
pub(crate) mod listing;
pub(crate) mod live;
pub(crate) mod plugin;
pub(crate) mod poll;
pub(crate) mod start;
pub(crate) mod submit;
pub(crate) mod swap;
pub(crate) mod text;
pub(crate) mod traces;
