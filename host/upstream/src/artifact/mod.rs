//! Plugins in an OCI registry: pulled and pushed by the command line, never by a process that serves.
//!
//! A registry that an operator names may be anywhere; what the registry then points to (a token
//! endpoint, a redirect) has to be public, unless it is the registry itself. Credentials go to the registry and to its token
//! endpoint, and to nobody else.

pub(crate) mod client;
pub(crate) mod login;
pub(crate) mod reference;
