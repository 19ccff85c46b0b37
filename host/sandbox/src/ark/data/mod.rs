//! The data plane: `/contents/generations/tasks`.

pub(crate) mod content;
pub(crate) mod endpoint;
pub(crate) mod request;
pub(crate) mod view;
