//! The admin API `/admin/v1`: JSON resources.
//!
//! Owns its routes, who may use them, how requests are read and answered, and the audit of every request that is not
//! safe. The rules of money, keys and plugins stay below: a resource calls the service or sends a command. Each resource
//! is one file in `resources`; a route is one row in it.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod csv;
pub(crate) mod error;
pub(crate) mod openapi;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod resources;
pub(crate) mod route;
pub(crate) mod router;
pub(crate) mod values;

pub(crate) use access::caller::COMMAND_LINE;
pub use access::caller::Tokens;
pub use access::caller::{Caller, Role};
pub use resources::key_limits;
pub(crate) use router::BASE;
pub use values::{Moment, Revealed};
