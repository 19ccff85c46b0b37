//! What leaves: the only room that opens outgoing sockets.
//!
//! Owns provider accounts (secrets, concurrency, rates, breakers), the one way a plugin's call becomes an
//! HTTP request, and the SSRF-safe fetch of media. It resolves names itself, classifies every address and
//! connects to exactly the address it classified, so that no literal, redirect or rebinding name reaches a
//! private network the operator did not name.
//!
//! Never retries what may have been sent, never follows a redirect of a call, never lets a plugin or a log
//! line see a credential, never reads the environment (secrets come in resolved) and never keeps bytes
//! itself (blobs come and go through [`Blobs`]). Called by `driver` (calls) and `media` (fetch).
//!
//! ```text
//! Call --(Slot)--> target --> request (credential, splices) --> Connector --> socket
//!                     |refused: foreign origin, forbidden header, foreign blob
//! Reply <-- stripped headers, capped and scrubbed body <-- response --> breaker, pause, trouble
//! ```

mod accounts;
mod address;
mod auth;
mod blobs;
mod breaker;
mod bucket;
mod call;
mod check;
mod config;
mod connect;
mod dial;
mod exchange;
mod fetch;
mod headers;
mod link;
mod mask;
mod origin;
mod pieces;
mod reply;
mod request;
mod resolve;
mod splice;
mod sse;
mod stream;
mod tls;
mod upstream;

#[cfg(test)]
mod tests;

pub use accounts::{NoSlot, Place, Slot};
pub use address::reserved;
pub use auth::Auth;
pub use blobs::{Blobs, OpenBlob};
pub use check::ConfigError;
pub use config::{AccountConfig, Config, FetchConfig, ProviderConfig, SecretRef};
pub use dial::{Dial, Line, Stream};
pub use fetch::{FetchError, Fetched, Origins, Policy};
pub use resolve::{Resolve, SystemResolver};
pub use stream::{Events, Opening};
pub use upstream::Upstream;
