//! HTTP: the pipeline every request passes (head checks, routing, authentication, response headers, access
//! log). Never knows the shape of an endpoint.

pub(crate) mod access_log;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod client_address;
pub(crate) mod context;
pub(crate) mod forwarded;
pub(crate) mod gen_ai;
pub(crate) mod head;
pub(crate) mod local;
pub(crate) mod pipeline;
pub(crate) mod query;
pub(crate) mod response;
pub(crate) mod routes;
pub(crate) mod surfaces;
pub(crate) mod table;
pub(crate) mod unread;
