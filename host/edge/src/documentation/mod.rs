//! The documentation of this API, made of the tables that serve it: what each route is, and the document and the page of
//! the present set of plugins, as one caller may use them.

mod documents;
mod operations;
mod parameters;

pub(crate) use documents::{Built, Documents, etag};
