//! How an account proves who it is: the configured way, the secret behind it, and what one request carries of it.
//!
//! Owns signatures, signed tokens, the tokens of service accounts, and what takes all of them out of a text.
//! Never decides where a credential may go (`request` does, by the provider's origins), never prints one, and
//! reads time and chance only through the host's clock and seed. Calls `client`, for the token endpoint.
//!
//! ```text
//! Auth (configuration) --secret--> Credential --clock, token endpoint--> CallCredential --> location or signature of one request
//! ```

pub(crate) mod canonical;
pub(crate) mod credential;
pub(crate) mod extra;
pub(crate) mod jwt;
pub(crate) mod key_file;
pub(crate) mod redact;
pub(crate) mod scheme;
pub(crate) mod signing;
pub(crate) mod token_cache;
pub(crate) mod token_endpoint;
