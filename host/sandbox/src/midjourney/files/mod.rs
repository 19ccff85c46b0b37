//! Files: signed links, drawing, delivery.

pub(crate) mod endpoint;
pub(crate) mod link;
