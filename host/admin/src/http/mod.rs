//! The admin API `/admin/v1`: JSON resources.
//!
//! Owns its routes, who may use them, how requests are read and answered, and the audit of every request that is not
//! safe. The rules of money, keys and plugins stay below: a resource calls the service or sends a command. Each resource
//! is one file in `resources`; a route is one row in it.

pub(crate) mod call;
pub(crate) mod csv;
pub(crate) mod openapi;
pub(crate) mod request;
pub(crate) mod resources;
pub(crate) mod route;
pub(crate) mod router;

pub use request::body::is_of_type;
pub use request::precondition::IDEMPOTENCY_KEY;
pub use resources::key_limits;
pub(crate) use route::BASE;
