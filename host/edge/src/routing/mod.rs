//! Which endpoint a path leads to: the gateway's own routes, those of the families, and both as operators see them. Calls no
//! other folder.

pub(crate) mod routes;
pub(crate) mod table;
