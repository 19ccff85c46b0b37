//! The description of the API: OpenAPI 3.1, assembled from the route table and the types of its rows, so that neither can
//! say what the other does not.

mod document;
mod operation;

pub(crate) use document::with_document;
