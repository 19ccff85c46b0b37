//! Files: signed links, drawing, delivery.

mod draw;
pub(crate) mod endpoint;
pub(crate) mod link;
