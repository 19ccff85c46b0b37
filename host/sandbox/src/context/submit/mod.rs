//! The submit origin: accepts jobs, tells credits.

pub(crate) mod endpoint;
mod input_image;
pub(crate) mod schema;
mod sizes;
